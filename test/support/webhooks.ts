import { Webhook } from 'standardwebhooks'
import type { Received } from './receiver.ts'

/** The event's id that a request carries. */
export function webhookId(request: Received): string {
  return String(request.headers['webhook-id'])
}

/**
 * Verifies a request with the official library, over its raw bytes.
 * @throws WebhookVerificationError
 */
export function verifyWebhook(secret: string, request: Received): void {
  new Webhook(secret).verify(request.body, request.headers as Record<string, string>, { jsonParse: false })
}

/** Requests by path without its query. */
export function byPath(requests: readonly Received[]): Map<string, Received[]> {
  return Map.groupBy(requests, (request) => request.path.split('?')[0] ?? '')
}

/** How many requests there were beyond the first of each (path, webhook-id). */
export function duplicates(requests: readonly Received[]): number {
  return requests.length - new Set(requests.map((request) => `${request.path} ${webhookId(request)}`)).size
}
