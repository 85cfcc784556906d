import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type CuttingProxy = {
  port: number
  /** The next connection that sends this text gets no answer to it any more, and is cut once the server has answered. */
  cutAnswerTo(text: string): void
  /** Resolves when an answer has been cut off. */
  cut: Promise<void>
  close(): Promise<void>
}

/** Stands between a process and its database, and loses an answer: what was asked has been done, and nobody knows. */
export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const { promise: cut, resolve } = Promise.withResolvers<void>()
  const sockets = new Set<Socket>()
  let wanted: string | null = null

  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1')
    let cutting = false
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    client.on('data', (chunk) => {
      if (wanted !== null && chunk.includes(wanted)) {
        wanted = null
        cutting = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (!cutting) {
        client.write(chunk)
        return
      }
      // The last word of a pipeline that ends with a commit: idle, outside any transaction.
      if (!chunk.subarray(-6).equals(Buffer.from([0x5a, 0, 0, 0, 5, 0x49]))) return
      end()
      resolve()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    port: (server.address() as AddressInfo).port,
    cutAnswerTo(text) {
      wanted = text
    },
    cut,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
