import net, { type AddressInfo, type Socket } from 'node:net'
import tls from 'node:tls'
import { parentPort } from 'node:worker_threads'
import { badAnswers } from './bad-answers.ts'
import { badConnections } from './bad-connections.ts'
import { badTls } from './bad-tls.ts'
import type { Exhibit } from './exhibit.ts'

/*
 * All exhibits, each on a port of its own, in a thread of their own: what floods here must not slow the test's own receiver.
 * Posts what there is; then answers each message with the number of connections that each has accepted.
 */
export type Shown = { name: string; expected: RegExp; url: string }
export type Opened = { shown: Shown[]; authorities: string[] }

const { exhibits, authorities } = badTls()
const all: Exhibit[] = [...badAnswers, ...badConnections, ...exhibits]
const accepted: Record<string, number> = {}

async function open({ name, expected, serve, scheme = 'http', tls: options }: Exhibit): Promise<Shown> {
  accepted[name] = 0
  const onSocket = (socket: Socket): void => {
    socket.on('error', () => undefined)
    serve(socket)
  }
  const server = options ? tls.createServer(options, onSocket) : net.createServer({ allowHalfOpen: true }, onSocket)
  server.on('connection', () => {
    accepted[name]! += 1
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, resolve))
  return { name, expected, url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

const opened: Opened = { shown: await Promise.all(all.map(open)), authorities }
parentPort?.postMessage(opened)
parentPort?.on('message', () => parentPort?.postMessage(accepted))
