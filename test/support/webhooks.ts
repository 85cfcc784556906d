import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import type { Received } from './receiver.ts'

/** The event's id that a request carries. */
export function webhookId(request: Received): string {
  return String(request.headers['webhook-id'])
}

/**
 * Verifies a request with the two libraries that receivers use most, over its raw bytes.
 * @throws WebhookVerificationError
 */
export function verifyWebhook(secret: string, request: Received): void {
  const headers = request.headers as Record<string, string>
  new Webhook(secret).verify(request.body, headers, { jsonParse: false })
  // It reads the payload as JSON, and has no way not to.
  new SvixWebhook(secret).verify(request.body, headers)
}

/** Requests by path without its query. */
export function byPath(requests: readonly Received[]): Map<string, Received[]> {
  return Map.groupBy(requests, (request) => request.path.split('?')[0] ?? '')
}

/** How many requests there were beyond the first of each (path, webhook-id). */
export function duplicates(requests: readonly Received[]): number {
  return requests.length - new Set(requests.map((request) => `${request.path} ${webhookId(request)}`)).size
}
