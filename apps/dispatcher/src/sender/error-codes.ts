/** Every way in which an attempt can fail without a status. The codes are part of the API: add, never rename. */
export type ErrorCode =
  /** The URL cannot be parsed. */
  | 'url_invalid'
  /** The URL, or the address that its host resolves to, is not one that webhooks may be sent to. */
  | 'target_refused'
  /** The host name does not exist. */
  | 'dns_not_found'
  /** The host name could not be resolved; the name servers failed or did not answer. */
  | 'dns_failed'
  /** Nothing listens on that port. */
  | 'connect_refused'
  /** No connection was made in time. */
  | 'connect_timeout'
  /** The connection was closed while it was being set up. */
  | 'connect_reset'
  /** There is no route to the host. */
  | 'unreachable'
  /** The certificate has expired or is not valid yet. */
  | 'tls_expired'
  /** The certificate is not signed by a trusted authority, or its chain is incomplete. */
  | 'tls_untrusted'
  /** The certificate is for another host. */
  | 'tls_name_mismatch'
  /** The TLS handshake failed. */
  | 'tls_failed'
  /** The deadline passed before a status was received; the phase says where. */
  | 'timeout'
  /** The request could not be written, as a header that is no valid header. */
  | 'request_invalid'
  /** The answer is not valid HTTP/1.1. */
  | 'response_invalid'
  /** The connection was closed before a status was received. */
  | 'connection_closed'
  /** The connection was reset before a status was received. */
  | 'connection_reset'
  /** The dispatcher gave the attempt up. */
  | 'aborted'
  /** The dispatcher has run out of sockets, files or memory. */
  | 'local_limit'
  /** A fault in the dispatcher itself. */
  | 'internal'
