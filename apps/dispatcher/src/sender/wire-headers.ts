/** Headers that belong to the connection or that the sender sets itself; a request's own cannot replace them. */
const reserved = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * The request's headers as names and values in turn, as undici takes them: lower-case, since receivers look `webhook-id` up
 * by its exact spelling, and with a `user-agent`, without which many firewalls drop a request.
 */
export function wireHeaders(headers: Record<string, string>, userAgent: string): string[] {
  const pairs: string[] = []
  let named = false
  for (const key of Object.keys(headers)) {
    const name = key.toLowerCase()
    if (reserved.has(name)) continue
    if (name === 'user-agent') named = true
    pairs.push(name, headers[key] ?? '')
  }
  if (!named) pairs.push('user-agent', userAgent)
  return pairs
}
