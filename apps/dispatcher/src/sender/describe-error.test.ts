import type { AttemptPhase } from '@posthorn/core'
import { expect, it } from 'vitest'
import { describeError, isClosedByPeer } from './describe-error.ts'

const error = (code: string, message = 'secret'): Error => Object.assign(new Error(message), { code })
const host = 'hooks.test:443'

it.each<[string, AttemptPhase, string, AttemptPhase]>([
  ['EHOSTUNREACH', 'connect', 'unreachable', 'connect'],
  ['ENETUNREACH', 'connect', 'unreachable', 'connect'],
  ['ETIMEDOUT', 'connect', 'connect_timeout', 'connect'],
  ['ETIMEDOUT', 'headers', 'connection_reset', 'headers'],
  ['ECONNREFUSED', 'connect', 'connect_refused', 'connect'],
  ['ECONNREFUSED', 'dns', 'dns_failed', 'dns'],
  ['ECONNRESET', 'connect', 'connect_reset', 'connect'],
  ['EPIPE', 'request', 'connection_reset', 'request'],
  ['EMFILE', 'connect', 'local_limit', 'connect'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls', 'tls_untrusted', 'tls'],
  ['CERT_NOT_YET_VALID', 'tls', 'tls_expired', 'tls'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'headers', 'tls_failed', 'tls'],
  ['ESOMETHING', 'tls', 'tls_failed', 'tls'],
  ['ESOMETHING', 'headers', 'internal', 'headers'],
])('%s in phase %s is %s in %s, without the original text', (code, phase, expected, at) => {
  const described = describeError(error(code), { phase, host })
  expect([described.code, described.phase]).toEqual([expected, at])
  expect(described.message).not.toContain('secret')
})

it('whatever is thrown is described', () => {
  for (const thrown of [undefined, null, 'text', {}, new Error('x')]) {
    expect(describeError(thrown, { phase: 'headers', host }).code).toBe('internal')
  }
})

it('only a reset or a close by the other side counts as closed by the peer', () => {
  for (const code of ['ECONNRESET', 'EPIPE']) expect(isClosedByPeer(error(code))).toBe(true)
  expect(isClosedByPeer(error('UND_ERR_SOCKET', 'other side closed'))).toBe(true)
  expect(isClosedByPeer(error('UND_ERR_SOCKET', 'bad response'))).toBe(false)
  expect(isClosedByPeer(error('ETIMEDOUT'))).toBe(false)
})
