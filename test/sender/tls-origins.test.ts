import { rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { spawnNode } from '../support/processes.ts'
import { selfSigned } from './certificate.ts'
import { ok } from './raw-server.ts'

const origins = 2_000
const script = fileURLToPath(new URL('./tls-origins-process.ts', import.meta.url))

it('2,000 TLS origins, all open, stay within 200 MiB', { timeout: 120_000 }, async () => {
  const certificate = selfSigned(['*.hooks.test'])
  const authorities = join(tmpdir(), `posthorn-test-origins-${process.pid}.pem`)
  writeFileSync(authorities, certificate.cert)
  onTestFinished(() => rmSync(authorities, { force: true }))
  const sockets = new Set<tls.TLSSocket>()
  const server = tls.createServer(certificate, (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(ok))
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const child = spawnNode(script, [`${port}`, `${origins}`], { NODE_EXTRA_CA_CERTS: authorities })
  const line = await child.waitForLine(/^opened /, 100_000)
  const [failed, connections, before, after] = line.split(' ').slice(1).map(Number) as [number, number, number, number]
  console.info(`${connections} TLS connections: ${before} MiB before, ${after} MiB with all open`)
  expect([failed, connections]).toEqual([0, origins])
  // Some 140 MiB on Node 24.
  expect(after - before).toBeLessThan(200)
})
