import type { ReceiveOptions } from '../verify/request.ts'
import { alreadyParsed, createVerifier, type Secrets, type Webhook } from '../verify/verify.ts'
import { type ByteStream, readStream } from './stream.ts'

/** What is needed of Express' request. */
type Request = ByteStream & {
  headers: Record<string, string | string[] | undefined>
  readableDidRead?: boolean
  body?: unknown
}

declare global {
  namespace Express {
    interface Request {
      /** On routes behind `webhook(...)`, and only there. */
      webhook: Webhook
    }
  }
}

/**
 * Middleware for Express: reads the raw body, verifies, and sets `req.webhook`. What is not verified goes to `next` as a
 * WebhookError, which Express answers with its status unless an error handler of yours does otherwise.
 *
 * `app.post('/webhooks', webhook(secrets), (req, res) => { req.webhook.json() ... })`, before any `app.use(express.json())`, or
 * behind `express.raw({ type: '*\/*' })`.
 */
export function webhook(secrets: Secrets, options: ReceiveOptions = {}) {
  const verifier = createVerifier(secrets, options)
  return (req: Request, _res: unknown, next: (error?: unknown) => void): void => {
    const verified = async (): Promise<void> => {
      const verifiedWebhook = await verifier(req.headers, await rawBody(req, options.maxBytes))
      Object.assign(req, { webhook: verifiedWebhook })
    }
    verified().then(() => next(), next)
  }
}

async function rawBody(req: Request, maxBytes: number | undefined): Promise<Uint8Array> {
  // express.raw() leaves a Buffer.
  if (ArrayBuffer.isView(req.body)) return req.body as Uint8Array
  if (req.readableDidRead) {
    throw alreadyParsed(
      'Register this route before app.use(express.json()), or give the route express.raw({ type: "*/*" }).',
    )
  }
  return readStream(req, maxBytes)
}
