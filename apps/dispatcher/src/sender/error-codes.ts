/** Every way in which an attempt can fail without a status. The codes are part of the API: add, never rename. */
export const errorCodes = {
  url_invalid: 'The URL cannot be parsed.',
  target_refused: 'The URL, or the address that its host resolves to, is not one that webhooks may be sent to.',
  dns_not_found: 'The host name does not exist.',
  dns_failed: 'The host name could not be resolved; the name servers failed or did not answer.',
  connect_refused: 'Nothing listens on that port.',
  connect_timeout: 'No connection was made in time.',
  connect_reset: 'The connection was closed while it was being set up.',
  unreachable: 'There is no route to the host.',
  tls_expired: 'The certificate has expired or is not valid yet.',
  tls_untrusted: 'The certificate is not signed by a trusted authority, or its chain is incomplete.',
  tls_name_mismatch: 'The certificate is for another host.',
  tls_failed: 'The TLS handshake failed.',
  timeout: 'The deadline passed before a status was received; the phase says where.',
  request_invalid: 'The request could not be written, as a header that is no valid header.',
  response_invalid: 'The answer is not valid HTTP/1.1.',
  connection_closed: 'The connection was closed before a status was received.',
  connection_reset: 'The connection was reset before a status was received.',
  aborted: 'The dispatcher gave the attempt up.',
  local_limit: 'The dispatcher has run out of sockets, files or memory.',
  internal: 'A fault in the dispatcher itself.',
} as const

export type ErrorCode = keyof typeof errorCodes
