import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ApiProblem } from './api-problem.ts'
import type { OpenConnections } from './open-connections.ts'
import type { ProblemCode } from './problem-catalogue.ts'
import { securityHeaders } from './security-headers.ts'

/** How long whoever sent what is no request may go on sending, before the connection is cut. */
const lingerMs = 1_000

const codes: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Answers what the HTTP parser refuses as everything else is answered, where Node would send a bare status. */
export function answerClientErrors(server: Pick<Server, 'on'>, connections: Pick<OpenConnections, 'isIdle'>): void {
  const answered = new WeakSet<Socket>()
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket
    if (answered.has(socket)) return
    answered.add(socket)
    // While a request is under way, what is written here would stand within its answer.
    if (error.code === 'ECONNRESET' || !socket.writable || !connections.isIdle(socket)) {
      socket.destroy()
      return
    }
    // Ended and not cut: a connection that is cut with bytes unread is reset, and its answer may be lost.
    socket.end(written(new ApiProblem(codes[error.code ?? ''] ?? 'malformed_request')))
    setTimeout(() => socket.destroy(), lingerMs).unref()
  })
}

function written(problem: ApiProblem): string {
  const body = JSON.stringify(problem.toDocument())
  const headers = {
    ...securityHeaders,
    'content-type': 'application/problem+json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`
}
