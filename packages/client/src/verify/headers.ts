import { WebhookError } from './webhook-error.ts'

/** As they were received; names in any case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** A header's value, or null. @throws WebhookError for one sent twice: it would not be clear which was signed */
export function readHeader(headers: WebhookHeaders, name: string): string | null {
  if (typeof (headers as Headers)?.get === 'function') return (headers as Headers).get(name)
  let found: string | null = null
  for (const [key, value] of Object.entries(headers ?? {})) {
    if (value === undefined || key.toLowerCase() !== name) continue
    if (found !== null || typeof value !== 'string') {
      throw new WebhookError('missing_header', `${name} came more than once: take the request's own headers, unmerged.`)
    }
    found = value
  }
  return found
}

/** The three headers of Standard Webhooks. @throws WebhookError that names those that are missing */
export function readSigned(headers: WebhookHeaders): { id: string; timestamp: string; signatures: string } {
  const [id, timestamp, signatures] = names.map((name) => readHeader(headers, name))
  if (id && timestamp && signatures) return { id, timestamp, signatures }
  const missing = names.filter((name) => !readHeader(headers, name)).join(', ')
  const message = `No ${missing}: this is no webhook of Posthorn, or something on the way removes headers it does not know.`
  throw new WebhookError('missing_header', message)
}
