import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import type { ReceiveOptions } from '../verify/request.ts'
import { createVerifier, type Secrets, type Webhook } from '../verify/verify.ts'
import { type ByteStream, readStream } from './stream.ts'

/** What is needed of Fastify's request. */
type Request = { headers: Record<string, string | string[] | undefined> }

/** The request of a route with `preParsing: webhook(...)`. */
export type WebhookRequest = { webhook: Webhook }

/**
 * A `preParsing` hook for Fastify: verifies the bytes, sets `request.webhook`, and hands the same bytes to Fastify's own parser.
 * What is not verified is thrown as a WebhookError, which Fastify answers with its status.
 *
 * `fastify.post('/webhooks', { preParsing: webhook(secrets) }, (request) => { request.webhook.json() ... })`
 */
export function webhook(secrets: Secrets, options: ReceiveOptions = {}) {
  const verifier = createVerifier(secrets, options)
  return async (request: Request, _reply: unknown, payload: ByteStream): Promise<Readable> => {
    const body = await readStream(payload, options.maxBytes)
    Object.assign(request, { webhook: await verifier(request.headers, body) })
    // Fastify holds this against content-length.
    return Object.assign(Readable.from([Buffer.from(body.buffer)], { objectMode: false }), {
      receivedEncodedLength: body.length,
    })
  }
}
