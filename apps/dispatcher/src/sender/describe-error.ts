import type { AttemptErrorCode, AttemptPhase } from '@posthorn/core'
import { certificateOf } from './certificate.ts'
import { EgressProxyError } from './egress-proxy.ts'
import type { AttemptError } from './outcome.ts'
import { isTargetRefused } from './target-guard.ts'

type Failure = {
  /** Where the attempt stood. */
  phase: AttemptPhase
  /** Host and port of the target: all of the URL that a message may repeat. */
  host: string
}

const untrusted: ReadonlyMap<string, string> = new Map([
  ['CERT_CHAIN_TOO_LONG', 'its chain is too long'],
  ['CERT_REJECTED', 'it is rejected'],
  ['CERT_REVOKED', 'it is revoked'],
  ['CERT_SIGNATURE_FAILURE', 'its signature is wrong'],
  ['CERT_UNTRUSTED', 'it is not for this use'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'it is self-signed'],
  ['INVALID_CA', 'its issuer may not issue certificates'],
  ['INVALID_PURPOSE', 'it is not for servers'],
  ['PATH_LENGTH_EXCEEDED', 'its chain is too long'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its root is not known'],
  ['UNABLE_TO_GET_ISSUER_CERT', 'its issuer is not known'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'its issuer is not known'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its issuer is not known, or an intermediate certificate is not sent'],
])

/**
 * Puts what Node or undici threw into a code, a phase and a sentence. The sentence is always ours: theirs can repeat the
 * receiver's bytes. An error of a kind that is not known becomes `internal`.
 */
export function describeError(error: unknown, { phase, host }: Failure): AttemptError {
  if (isTargetRefused(error)) return { code: 'target_refused', phase: 'target', message: error.message }
  if (error instanceof EgressProxyError) {
    const at = error.reason === 'proxy_connect_failed' ? 'connect' : 'proxy'
    return { code: error.reason, phase: at, message: `${host}: ${error.message}` }
  }
  const { code, name, message } = asError(tellingOf(error))
  const connecting = phase === 'dns' || phase === 'connect' || phase === 'tls'
  const fail = (code: AttemptErrorCode, message: string, at: AttemptPhase = phase): AttemptError => ({
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
      return fail('tls_expired', `the certificate of ${host} has expired${certificateOf(error).until}`, 'tls')
    case 'CERT_NOT_YET_VALID':
      return fail('tls_expired', `the certificate of ${host} is not valid yet${certificateOf(error).from}`, 'tls')
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return fail(
        'tls_name_mismatch',
        `the certificate of ${host} is for another host${certificateOf(error).names}`,
        'tls',
      )
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
  const distrust = untrusted.get(code)
  if (distrust) return fail('tls_untrusted', `the certificate of ${host} is not trusted: ${distrust}`, 'tls')
  // A receiver that wants a certificate of ours says so only after the handshake (TLS 1.3): the phase is still TLS.
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO)/.test(code) || phase === 'tls') {
    return fail('tls_failed', `the TLS handshake with ${host} failed${tlsReason(code)}`, 'tls')
  }
  if (phase === 'dns') {
    const why = code === 'ETIMEOUT' ? ': its name servers did not answer' : ''
    return fail('dns_failed', `the host name of ${host} could not be resolved${why}`)
  }
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

/** Of the failures at several addresses the one that tells of the host: that a family has no route tells of us. */
function tellingOf(error: unknown): unknown {
  if (!(error instanceof AggregateError)) return error
  const unrouted = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'])
  return error.errors.find((one) => !unrouted.has(asError(one).code)) ?? error.errors[0]
}

function asError(error: unknown): { code: string; name: string; message: string } {
  if (!(error instanceof Error)) return { code: '', name: '', message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return { code, name: error.name, message: error.message }
}
