import type { ServerResponse } from 'node:http'

/** On every answer, unless the route says otherwise: nothing of ours is to be framed, sniffed, cached or run. */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const

const entries = Object.entries(securityHeaders)

/** Sets them on Node's own response, before any route is asked: no route, and no error, can do without. */
export function addSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of entries) response.setHeader(name, value)
}
