import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { UsageError } from '../usage-error.ts'

/** As much of an answer as Posthorn itself would read. */
const maxAnswerBytes = 64 * 1024

/** What a forwarded webhook came to: an answer, or why there is none. */
export type Forwarded = {
  durationMs: number
  answer: { status: number; headers: string[]; body: Buffer } | null
  error: string | null
}

/** Posts the very bytes, with the headers as they came. Never rejects. */
export type Forward = (rawHeaders: readonly string[], body: Buffer) => Promise<Forwarded>

/** What concerns one connection alone, and the host, which is another's. */
const ofTheConnection = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'expect',
])

/** `3000` is a port of this machine; else a URL. @throws UsageError */
export function forwardUrl(text: string): URL {
  const url = URL.parse(/^\d{1,5}$/.test(text) ? `http://127.0.0.1:${text}/` : text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url
  throw new UsageError('--forward-to: write a port of this machine (3000), or a URL (http://localhost:3000/webhooks)')
}

/** @param timeoutMs how long one may take, its answer included */
export function createForward(to: URL, timeoutMs: number): Forward {
  const send = to.protocol === 'https:' ? requestHttps : requestHttp
  return (rawHeaders, body) => {
    const beganAt = performance.now()
    const durationMs = (): number => Math.round(performance.now() - beganAt)
    return new Promise((resolve) => {
      const fail = (error: Error & { code?: string }): void => {
        const why =
          error.name === 'TimeoutError' ? `no answer within ${timeoutMs / 1_000} s` : (error.code ?? error.message)
        resolve({
          durationMs: durationMs(),
          answer: null,
          error: `${to.origin}${to.pathname} gave no answer (${why})`,
        })
      }
      const headers = [
        'host',
        to.host,
        ...kept(rawHeaders),
        'content-length',
        String(body.length),
        'connection',
        'close',
      ]
      const request = send(to, { method: 'POST', headers, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
        const chunks: Buffer[] = []
        let length = 0
        response.on('data', (chunk: Buffer) => {
          if (length < maxAnswerBytes) chunks.push(chunk.subarray(0, maxAnswerBytes - length))
          length += chunk.length
          if (length > maxAnswerBytes) response.destroy()
        })
        response.once('error', fail)
        response.once('close', () => {
          if (!response.complete && length <= maxAnswerBytes) return fail(new Error('it broke off in the middle'))
          const answer = {
            status: response.statusCode!,
            headers: kept(response.rawHeaders),
            body: Buffer.concat(chunks),
          }
          resolve({ durationMs: durationMs(), answer, error: null })
        })
      })
      request.once('error', fail)
      request.end(body)
    })
  }
}

function kept(rawHeaders: readonly string[]): string[] {
  const pairs: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (!ofTheConnection.has(name.toLowerCase())) pairs.push(name, rawHeaders[at + 1]!)
  }
  return pairs
}
