import { type ReceiveOptions, readBody } from '../verify/request.ts'
import { alreadyParsed, createVerifier, type Secrets, type Webhook } from '../verify/verify.ts'

/** What is needed of Hono's context. */
type Context = {
  req: { raw: Request; bodyCache?: object }
  set(key: 'webhook', value: Webhook): void
}

/** For `new Hono<WebhookEnv>()`: `c.get('webhook')`. */
export type WebhookEnv = { Variables: { webhook: Webhook } }

/**
 * Middleware for Hono: verifies, and sets `webhook`. What is not verified is thrown as a WebhookError, which Hono answers with its
 * status unless `app.onError` does otherwise.
 *
 * `app.post('/webhooks', webhook(secrets), (c) => { c.get('webhook').json() ... })`
 */
export function webhook(secrets: Secrets, options: ReceiveOptions = {}) {
  const verifier = createVerifier(secrets, options)
  return async (c: Context, next: () => Promise<void>): Promise<void> => {
    const { raw, bodyCache = {} } = c.req
    if (raw.bodyUsed || Object.keys(bodyCache).length > 0) {
      throw alreadyParsed('Put webhook(...) before whatever reads the body (c.req.json(), validators).')
    }
    c.set('webhook', await verifier(raw.headers, await readBody(raw, options.maxBytes)))
    await next()
  }
}
