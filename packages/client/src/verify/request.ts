import { alreadyParsed, createVerifier, type Secrets, type VerifyOptions, type Webhook } from './verify.ts'
import { WebhookError } from './webhook-error.ts'

export type ReceiveOptions = VerifyOptions & {
  /** A longer body is refused before it is read whole. Default 16 MiB; Posthorn's own bound is 1 MiB unless set otherwise. */
  maxBytes?: number
}

export const defaultMaxBytes = 16 * 1024 * 1024

/** Verifies a `Request` whose body nobody has read. @throws WebhookError */
export async function verifyRequest(
  secrets: Secrets,
  request: Request,
  options: ReceiveOptions = {},
): Promise<Webhook> {
  return createVerifier(secrets, options)(request.headers, await readBody(request, options.maxBytes))
}

// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is one to take, asynchronous or not
type Handled = Response | undefined | void

/**
 * A handler of `Request`s, as route handlers of Next.js, Workers, Deno and Bun are: what is not verified is answered with why,
 * and never reaches `handle`. What the receiver has wrong (a secret, a body that was read before) is thrown, and so is whatever
 * `handle` throws; without an answer of its own, 204 is sent.
 */
export function receive<Rest extends unknown[]>(
  secrets: Secrets,
  handle: (webhook: Webhook, request: Request, ...rest: Rest) => Handled | Promise<Handled>,
  options: ReceiveOptions = {},
): (request: Request, ...rest: Rest) => Promise<Response> {
  const verifier = createVerifier(secrets, options)
  return async (request, ...rest) => {
    let webhook: Webhook
    try {
      webhook = await verifier(request.headers, await readBody(request, options.maxBytes))
    } catch (error) {
      if (error instanceof WebhookError && error.getResponse) return error.getResponse()
      throw error
    }
    const answer = await handle(webhook, request, ...rest)
    return typeof answer?.status === 'number' ? answer : new Response(null, { status: 204 })
  }
}

/** The body of a `Request` as it came. */
export async function readBody(request: Request, maxBytes = defaultMaxBytes): Promise<Uint8Array> {
  if (request.bodyUsed) throw alreadyParsed('Verify before anything else reads the request, or a clone of it.')
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length
    if (length > maxBytes) {
      await reader.cancel()
      throw tooLarge(maxBytes)
    }
    chunks.push(next.value)
  }
  return concat(chunks, length)
}

export function tooLarge(maxBytes: number): WebhookError {
  return new WebhookError(
    'body_too_large',
    `The body is larger than ${maxBytes} bytes: raise maxBytes if such are published.`,
  )
}

export function concat(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}
