import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'hono'
import type { AppEnv } from '../app.ts'
import { ApiProblem } from './api-problem.ts'
import type { ByteBudget } from './byte-budget.ts'

/**
 * A request's body; none is an empty buffer. Never holds more than `maxBytes` and one chunk.
 * @throws ApiProblem 413; 400 for a body that ends early; 503 when all bodies together hold too much
 */
export function readBody(c: Context<AppEnv>, maxBytes: number): Promise<Buffer> {
  const announced = c.req.header('content-length')
  if (announced !== undefined && Number(announced) > maxBytes) return Promise.reject(tooLarge(maxBytes))
  const { incoming, outgoing, bodies } = c.env ?? {}
  // Node's own stream costs a fraction of the web stream made of it.
  if (incoming === undefined || outgoing === undefined) return readWeb(c.req.raw.body, maxBytes)
  return readIncoming(incoming, outgoing as ServerResponse, maxBytes, bodies)
}

/**
 * As `readBody`. What is held counts against `bodies` until the answer is out, or the connection gone. A body is counted as it
 * comes: one that was announced and is not sent keeps no room from others.
 */
export function readIncoming(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  maxBytes: number,
  bodies: ByteBudget | undefined,
): Promise<Buffer> {
  const announced = Number(incoming.headers['content-length'] ?? 0)
  if (bodies?.fits(announced) === false) return Promise.reject(tooMuchAtOnce())
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const parts: Buffer[] = []
  let length = 0
  const holding = bodies?.open()
  const onData = (chunk: Buffer): void => {
    if (holding?.take(chunk.length) === false) {
      refuse(tooMuchAtOnce())
      return
    }
    length += chunk.length
    parts.push(chunk)
    if (length > maxBytes) refuse(tooLarge(maxBytes))
  }
  const onEnd = (): void => {
    release()
    resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, length))
    // What waits for the answer's end would keep them.
    parts.length = 0
  }
  const onBreak = (error?: Error): void => refuse(endedEarly(error))
  function refuse(problem: ApiProblem): void {
    release()
    parts.length = 0
    // The server drops what is still to come, once the refusal has been answered.
    incoming.pause()
    reject(problem)
  }
  function release(): void {
    incoming.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak)
  }
  outgoing.once('close', () => holding?.close())
  incoming.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak)
  // Neither event would come any more.
  if (incoming.readableEnded) onEnd()
  else if (incoming.destroyed) onBreak(incoming.errored ?? undefined)
  return promise
}

async function readWeb(stream: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream ?? []) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge(maxBytes)
    parts.push(chunk)
  }
  return Buffer.concat(parts, length)
}

function tooLarge(maxBytes: number): ApiProblem {
  return new ApiProblem('body_too_large', `The body has more than ${maxBytes} bytes.`)
}

function tooMuchAtOnce(): ApiProblem {
  return new ApiProblem('overloaded', 'Too many bytes are being received.', { retryAfterSeconds: 1 })
}

function endedEarly(cause: Error | undefined): ApiProblem {
  return new ApiProblem('malformed_request', 'The body ended before it was whole.', { cause })
}
