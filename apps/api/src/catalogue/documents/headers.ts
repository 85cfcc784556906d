/** The headers of each webhook (Standard Webhooks 1.0.0, and the type). */
export const webhookHeaders = {
  'webhook-id': 'The id of the event. The same at each attempt: receivers deduplicate by it.',
  'webhook-timestamp': 'When the attempt was made, in seconds since 1970.',
  'webhook-signature': 'One or more signatures, separated by spaces.',
  'posthorn-event-type': 'The type of the event.',
} as const
