/**
 * What the verifiers of other languages are given: a file with a JSON array of these. Each prints a JSON array with true, false,
 * or null where it does not know the version.
 */
export type RecordedWebhook = {
  'webhook-id': string
  'webhook-timestamp': string
  'webhook-signature': string
  /** Base64. */
  body: string
} & ({ secret: string } | { public_key: string })
