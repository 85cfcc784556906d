import type { ErrorCode } from './error-codes.ts'
import type { AttemptError, AttemptPhase } from './outcome.ts'
import { isTargetRefused } from './target-guard.ts'

type Failure = {
  /** Where the attempt stood. */
  phase: AttemptPhase
  /** Host and port of the target: all of the URL that a message may repeat. */
  host: string
}

const untrusted = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/**
 * Puts what Node or undici threw into a code, a phase and a sentence. The sentence is always ours: theirs can repeat the
 * receiver's bytes. An error of a kind that is not known becomes `internal`.
 */
export function describeError(error: unknown, { phase, host }: Failure): AttemptError {
  if (isTargetRefused(error)) return { code: 'target_refused', phase: 'target', message: error.message }
  const { code, name, message } = asError(error)
  const connecting = phase === 'dns' || phase === 'connect' || phase === 'tls'
  const fail = (code: ErrorCode, message: string, at: AttemptPhase = phase): AttemptError => ({
    code,
    phase: at,
    message,
  })

  switch (code) {
    case 'ENOTFOUND':
    case 'ENODATA':
      return fail('dns_not_found', `the host name of ${host} does not exist`, 'dns')
    case 'ECONNREFUSED':
      if (phase !== 'dns') return fail('connect_refused', `${host} refused the connection`, 'connect')
      break
    case 'ETIMEDOUT':
      if (phase === 'connect') return fail('connect_timeout', `${host} did not answer the connection`)
      return fail('connection_reset', `the connection to ${host} was lost`)
    case 'EHOSTUNREACH':
    case 'EHOSTDOWN':
    case 'ENETUNREACH':
    case 'ENETDOWN':
    case 'EADDRNOTAVAIL':
    case 'EACCES':
    case 'EPERM':
      return fail('unreachable', `there is no route to ${host}`)
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOBUFS':
    case 'ENOMEM':
      return fail('local_limit', 'the dispatcher ran out of sockets, files or memory')
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ECONNABORTED':
      if (phase === 'tls') return fail('connect_reset', `${host} closed the connection during the TLS handshake`)
      if (connecting) return fail('connect_reset', `${host} closed the connection while it was being set up`)
      return fail('connection_reset', `${host} reset the connection without an answer`)
    case 'CERT_HAS_EXPIRED':
      return fail('tls_expired', `the certificate of ${host} has expired`, 'tls')
    case 'CERT_NOT_YET_VALID':
      return fail('tls_expired', `the certificate of ${host} is not valid yet`, 'tls')
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return fail('tls_name_mismatch', `the certificate of ${host} is for another host`, 'tls')
    case 'UND_ERR_HEADERS_OVERFLOW':
      return fail('response_invalid', `${host} answered with headers that are too large`, 'headers')
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      return fail('response_invalid', `${host} answered with a wrong content-length`)
    case 'UND_ERR_SOCKET':
      if (message.startsWith('bad ')) return fail('response_invalid', `${host} answered with what no request asked for`)
      return fail('connection_closed', `${host} closed the connection without an answer`)
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_NOT_SUPPORTED':
    case 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH':
      return fail('request_invalid', 'a header of the request is not valid in HTTP', 'request')
  }
  if (untrusted.has(code)) return fail('tls_untrusted', `the certificate of ${host} is not trusted`, 'tls')
  // A receiver that wants a certificate of ours says so only after the handshake (TLS 1.3): the phase is still TLS.
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO)/.test(code) || phase === 'tls') {
    return fail('tls_failed', `the TLS handshake with ${host} failed${tlsReason(code)}`, 'tls')
  }
  if (phase === 'dns') return fail('dns_failed', `the host name of ${host} could not be resolved`)
  if (name === 'HTTPParserError') return fail('response_invalid', `${host} did not answer in HTTP/1.1`)
  return fail('internal', 'the attempt failed for a reason that is not known')
}

/** A reset or close by the other side: what a keep-alive connection that had gone stale looks like. */
export function isClosedByPeer(error: unknown): boolean {
  const { code, message } = asError(error)
  if (code === 'UND_ERR_SOCKET') return !message.startsWith('bad ')
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED'
}

const tlsReason = (code: string): string =>
  code.startsWith('ERR_SSL_') ? ` (${code.slice('ERR_SSL_'.length).toLowerCase().replaceAll('_', ' ')})` : ''

function asError(error: unknown): { code: string; name: string; message: string } {
  if (!(error instanceof Error)) return { code: '', name: '', message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return { code, name: error.name, message: error.message }
}
