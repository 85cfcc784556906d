import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../support/wait.ts'
import { brief, newSender } from './fixture.ts'
import { ok } from './raw-server.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const hosts = 20_000
const atOnce = 100

/** Sockets and files that this process has open; null where it cannot be told. */
const openFiles = (): number | null => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : null)

function heapMib(): number {
  collect()
  return process.memoryUsage().heapUsed / 1024 ** 2
}

it('20,000 hosts leave no socket, no pool and no memory behind', { timeout: 120_000 }, async () => {
  let accepted = 0
  const server = net.createServer((socket) => {
    accepted++
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(ok))
  })
  server.listen(0, '0.0.0.0', 1_024)
  await once(server, 'listening')
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  const sender = newSender({ keepAliveMs: 1_000, maxIdleConnections: 100 })

  const post = async (n: number): Promise<string> =>
    brief(await sender.post(`http://127.${n >> 16}.${(n >> 8) & 255}.${n & 255}:${port}/`, { timeoutMs: 20_000 }))
  const run = async (from: number, to: number): Promise<Set<string>> => {
    const outcomes = new Set<string>()
    let next = from
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (next < to) outcomes.add(await post(next++))
      }),
    )
    return outcomes
  }

  // A tenth first: what the process itself allocates for such work is not left behind by it.
  const first = hosts / 10
  const filesBefore = openFiles()
  expect(await run(1, first)).toEqual(new Set(['200']))
  await eventually(() => sender.openConnections() === 0, 20_000)
  const heapBefore = heapMib()
  expect(await run(first, hosts + 1)).toEqual(new Set(['200']))
  expect(accepted).toBe(hosts)
  expect(sender.openConnections()).toBeLessThanOrEqual(100)
  await eventually(() => sender.openConnections() === 0, 20_000)
  if (filesBefore !== null) await eventually(() => openFiles()! <= filesBefore + 5, 20_000)
  const heapAfter = heapMib()
  console.info(`heap after ${first} hosts ${heapBefore.toFixed(1)} MiB, after ${hosts} ${heapAfter.toFixed(1)} MiB`)
  // Ten thousand URLs are remembered, taken apart.
  expect(heapAfter - heapBefore).toBeLessThan(16)
})
