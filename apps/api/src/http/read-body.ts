import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import type { AppEnv } from '../app.ts'
import { ApiProblem } from './api-problem.ts'

/**
 * A request's body; none is an empty buffer. Never holds more than `maxBytes` and one chunk.
 * @throws ApiProblem 413; 400 for a body that ends early
 */
export function readBody(c: Context<AppEnv>, maxBytes: number): Promise<Buffer> {
  const announced = c.req.header('content-length')
  if (announced !== undefined && Number(announced) > maxBytes) return Promise.reject(tooLarge(maxBytes))
  const incoming = c.env?.incoming
  // Node's own stream costs a fraction of the web stream made of it.
  return incoming === undefined ? readWeb(c.req.raw.body, maxBytes) : readIncoming(incoming, maxBytes)
}

function readIncoming(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const parts: Buffer[] = []
  let length = 0
  const onData = (chunk: Buffer): void => {
    length += chunk.length
    parts.push(chunk)
    if (length > maxBytes) refuse(tooLarge(maxBytes))
  }
  const onEnd = (): void => {
    release()
    resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, length))
  }
  const onBreak = (error?: Error): void => refuse(endedEarly(error))
  function refuse(problem: ApiProblem): void {
    release()
    // The server drops what is still to come, once the refusal has been answered.
    incoming.pause()
    reject(problem)
  }
  function release(): void {
    incoming.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak)
  }
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

function endedEarly(cause: Error | undefined): ApiProblem {
  return new ApiProblem('malformed_request', 'The body ended before it was whole.', { cause })
}
