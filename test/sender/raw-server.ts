import net, { type AddressInfo, type Socket } from 'node:net'
import tls from 'node:tls'
import { onTestFinished } from 'vitest'

export type Peer = {
  socket: Socket
  /** 0 for the server's first connection. */
  index: number
  /** The next whole request (by its content-length) as it came over the wire; rejects if the connection ends before. */
  request(): Promise<string>
}

export type RawServer = {
  port: number
  url: string
  /** Whole requests received, in order. */
  requests: string[]
  /** Connections accepted, ever. */
  accepted(): number
  /** Connections open now. */
  open(): number
}

/** A receiver that does whatever the test writes to the socket. Closed with the test. */
export async function startRawServer(
  serve: (peer: Peer) => void | Promise<void>,
  options: { secure?: { key: string; cert: string }; host?: string; port?: number } = {},
): Promise<RawServer> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let accepted = 0

  const onSocket = (socket: Socket): void => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    // Resets are part of many tests.
    socket.on('error', () => undefined)
    const peer: Peer = { socket, index: accepted++, request: requestReader(socket, requests) }
    Promise.resolve(serve(peer)).catch(() => socket.destroy())
  }
  const server = options.secure ? tls.createServer(options.secure, onSocket) : net.createServer(onSocket)
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => {
    server.listen({ port: options.port ?? 0, host: options.host ?? '127.0.0.1', backlog: 1_024 }, resolve)
  })
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const url = `${options.secure ? 'https' : 'http'}://127.0.0.1:${port}/hook`
  return { port, url, requests, accepted: () => accepted, open: () => sockets.size }
}

function requestReader(socket: Socket, requests: string[]): () => Promise<string> {
  let text = ''
  let closed = false
  let wake = (): void => undefined
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    wake()
  })
  socket.once('close', () => {
    closed = true
    wake()
  })
  return async () => {
    while (true) {
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/^content-length: (\d+)$/im.exec(text.slice(0, head))?.[1] ?? 0)
      if (head >= 0 && text.length >= head + 4 + length) {
        const request = text.slice(0, head + 4 + length)
        text = text.slice(request.length)
        requests.push(request)
        return request
      }
      if (closed) throw new Error('closed before a whole request')
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}

/** Serves each request on each connection with the same bytes. */
export const always =
  (answer: string | Buffer) =>
  async ({ socket, request }: Peer): Promise<void> => {
    while (true) {
      await request()
      socket.write(answer)
    }
  }

export const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
