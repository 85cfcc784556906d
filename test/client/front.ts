import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the front does with one request, in place of passing it on. */
export type Fault =
  | { answer: number; headers?: Record<string, string>; body?: string }
  /** Passed on, and its answer thrown away with the connection. */
  | 'lost answer'
  | 'broken connection'
  /** Never answered. */
  | 'silence'

export type Seen = { method: string; path: string; headers: IncomingHttpHeaders; body: string }

export type Front = {
  url: string
  requests: Seen[]
  /** Taken one a request; then all are passed on. */
  faults: Fault[]
  close(): Promise<void>
}

/** A server before the API that does to its requests what networks and load balancers do. */
export async function startFront(apiUrl: string): Promise<Front> {
  const front: Front = { url: '', requests: [], faults: [], close: () => Promise.resolve() }
  async function pass(request: IncomingMessage, body: Buffer<ArrayBuffer>): Promise<Response> {
    const headers = { ...(request.headers as Record<string, string>) }
    for (const name of ['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding'])
      delete headers[name]
    const method = request.method ?? 'GET'
    return fetch(apiUrl + request.url, { method, headers, ...(body.length > 0 ? { body } : {}) })
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { method = '', url: path = '', headers } = request
    front.requests.push({ method, path, headers, body: body.toString() })
    const fault = front.faults.shift()
    if (fault === 'silence') return
    if (fault === 'broken connection') return void response.destroy()
    if (typeof fault === 'object') return void response.writeHead(fault.answer, fault.headers).end(fault.body)
    const answer = await pass(request, body)
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (fault === 'lost answer') return void response.destroy()
    const answered = Object.fromEntries(answer.headers)
    delete answered['transfer-encoding']
    response.writeHead(answer.status, answered).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  front.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  front.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return front
}
