import type { Context } from 'hono'
import type { AppEnv } from '../app.ts'
import { ApiProblem } from './api-problem.ts'

/** A request's body; none is an empty buffer. Never holds more than `maxBytes` and one chunk. @throws ApiProblem 413, 400 */
export async function readBody(c: Context<AppEnv>, maxBytes: number): Promise<Buffer> {
  const announced = c.req.header('content-length')
  if (announced !== undefined && Number(announced) > maxBytes) throw tooLarge(maxBytes)
  const incoming = c.env?.incoming
  // Node's own stream costs a fraction of the web stream made of it.
  const chunks = incoming ?? c.req.raw.body
  if (chunks === null) return Buffer.alloc(0)
  const parts: Buffer[] = []
  let length = 0
  try {
    // Leaving early must not destroy the socket: the refusal has yet to be answered on it.
    const iterator = incoming === undefined ? chunks : incoming.iterator({ destroyOnReturn: false })
    for await (const chunk of iterator as AsyncIterable<Uint8Array>) {
      length += chunk.length
      if (length > maxBytes) throw tooLarge(maxBytes)
      parts.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    }
  } catch (error) {
    if (error instanceof ApiProblem) throw error
    throw new ApiProblem('malformed_request', 'The body ended before it was whole.', { cause: error })
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts, length)
}

function tooLarge(maxBytes: number): ApiProblem {
  return new ApiProblem('body_too_large', `The body has more than ${maxBytes} bytes.`)
}
