/**
 * Every way in which an attempt can end without a status, and what it means. The codes are part of the contract: add, never
 * rename. `docs/attempts.md` says for each what follows and what to do.
 */
export const attemptErrors = {
  url_invalid: 'The URL cannot be used.',
  target_refused: 'The URL, or an address that its host resolves to, is not one that webhooks may be sent to.',
  dns_not_found: 'The host name does not exist, or has no address.',
  dns_failed: 'The host name could not be resolved: name servers failed or did not answer.',
  connect_refused: 'Nothing listens on that port.',
  connect_timeout: 'No connection was made in time.',
  connect_reset: 'The connection was closed while it was being set up.',
  unreachable: 'There is no route to the host.',
  tls_expired: 'The certificate has expired or is not valid yet.',
  tls_untrusted: 'The certificate is not signed by a trusted authority, or its chain is incomplete.',
  tls_name_mismatch: 'The certificate is for another host.',
  tls_failed: 'The TLS handshake failed.',
  timeout: 'The deadline passed before a status was received; the phase says where.',
  request_invalid: 'The request could not be written: a header is not valid in HTTP.',
  response_invalid: 'The answer is not valid HTTP/1.1, or holds more than an answer may.',
  connection_closed: 'The connection was closed before a status was received.',
  connection_reset: 'The connection was reset before a status was received.',
  proxy_unreachable: 'The egress proxy could not be connected to.',
  proxy_refused: 'The egress proxy refused to connect to the receiver.',
  proxy_failed: 'The egress proxy closed the connection, or did not answer in HTTP.',
  proxy_connect_failed: 'The egress proxy could not connect to the receiver.',
  aborted: 'The dispatcher gave the attempt up.',
  local_limit: 'The dispatcher has run out of sockets, files or memory.',
  internal: 'A fault in the dispatcher itself.',
} as const

export type AttemptErrorCode = keyof typeof attemptErrors

export const attemptErrorCodes = Object.keys(attemptErrors) as [AttemptErrorCode, ...AttemptErrorCode[]]

/** How far an attempt had come when it failed, in order. */
export const attemptPhases = ['target', 'dns', 'proxy', 'connect', 'tls', 'request', 'headers'] as const

export type AttemptPhase = (typeof attemptPhases)[number]
