import { expect, test } from 'vitest'
import type { Outcome } from './sender/index.ts'
import { decide } from './verdict.ts'

const outcome = (part: Partial<Outcome>): Outcome => ({
  startedAt: new Date(),
  durationMs: 5,
  url: 'http://receiver.test/',
  response: null,
  retryAfter: null,
  error: null,
  stale: false,
  aborted: false,
  ...part,
})
const answered = (status: number, retryAfter: string | string[] | null = null): Outcome =>
  outcome({ response: { status, headers: [], body: Buffer.alloc(0), truncated: false }, retryAfter })
const failedWith = (code: NonNullable<Outcome['error']>['code'], part: Partial<Outcome> = {}): Outcome =>
  outcome({ error: { code, phase: 'connect', message: code }, ...part })

const verdict = (result: Outcome, part: { step?: number; fresh?: boolean; ageMs?: number } = {}) =>
  decide({
    lease: { step: part.step ?? 0, fresh: part.fresh ?? false },
    outcome: result,
    schedule: [5, 300],
    ageMs: part.ageMs ?? 0,
    maxAgeMs: 432_000_000,
    random: () => 0.5,
    now: new Date(),
  })

test('every 2xx succeeds, whatever its body', () => {
  for (const status of [200, 201, 202, 204, 206, 226, 299]) expect(verdict(answered(status)).state).toBe(4)
})

test('410 fails for good and closes the endpoint, with or without Retry-After, on the first attempt or a later one', () => {
  expect(verdict(answered(410))).toMatchObject({ state: 5, reason: 'gone', gone: true })
  expect(verdict(answered(410, '5'), { step: 1 })).toMatchObject({
    state: 5,
    reason: 'gone',
    gone: true,
    laneWaitMs: 0,
  })
})

test('any other status, 3xx included, is retried by the schedule', () => {
  for (const status of [301, 302, 307, 400, 401, 403, 404, 418, 500, 599]) {
    expect(verdict(answered(status))).toMatchObject({ outcome: 2, state: 2, step: 1, waitMs: 5_000, gone: false })
  }
  expect(verdict(answered(500), { step: 1 })).toMatchObject({ state: 2, step: 2, waitMs: 300_000 })
  expect(verdict(answered(500), { step: 2 })).toMatchObject({ state: 5, reason: 'exhausted' })
})

test('Retry-After delays, and never hastens, and holds the lane back; only where it means throttling', () => {
  expect(verdict(answered(503, '120'))).toMatchObject({ state: 2, waitMs: 120_000, laneWaitMs: 120_000 })
  expect(verdict(answered(429, '1'))).toMatchObject({ waitMs: 5_000, laneWaitMs: 1_000 })
  expect(verdict(answered(429, ['5', '10']))).toMatchObject({ waitMs: 10_000 })
  expect(verdict(answered(500, '120'))).toMatchObject({ waitMs: 5_000, laneWaitMs: 0 })
  expect(verdict(answered(200, '3600'))).toMatchObject({ state: 4, laneWaitMs: 0 })
  for (const hostile of ['Infinity', '-5', '1e30', '', '0x10']) {
    expect(verdict(answered(503, hostile))).toMatchObject({ state: 2, waitMs: 5_000, laneWaitMs: 0 })
  }
})

test('connection, DNS and time-out errors are retried; a refused target is not', () => {
  for (const code of ['connect_refused', 'timeout', 'dns_not_found'] as const) {
    expect(verdict(failedWith(code))).toMatchObject({ outcome: 2, state: 2, step: 1 })
  }
  expect(verdict(failedWith('target_refused'))).toMatchObject({ state: 5, reason: 'target_refused' })
})

test('a stale connection is tried again at once on a new one, one time, without using up a step', () => {
  const stale = failedWith('connect_refused', { stale: true })
  expect(verdict(stale)).toMatchObject({ outcome: 2, state: 0, step: 0, fresh: true })
  expect(verdict(stale, { fresh: true })).toMatchObject({ state: 2, step: 1, fresh: false })
})

test('an attempt that we ended ourselves costs the delivery no step', () => {
  expect(verdict(failedWith('timeout', { aborted: true }), { step: 1 })).toMatchObject({ state: 0, step: 1, waitMs: 0 })
})

test('what would be attempted past the greatest age ends as expired', () => {
  expect(verdict(answered(500), { ageMs: 431_999_000 })).toMatchObject({ state: 5, reason: 'expired' })
})

test('a fault of ours is retried without using up a step, by the age of the delivery, and says nothing of the endpoint', () => {
  for (const code of [
    'internal',
    'local_limit',
    'dns_failed',
    'proxy_unreachable',
    'proxy_refused',
    'proxy_failed',
  ] as const) {
    const own = { outcome: 2, state: 2, step: 1, health: 'unknown', laneWaitMs: 0 }
    expect(verdict(failedWith(code), { step: 1 })).toMatchObject({ ...own, waitMs: 30_000 })
    expect(verdict(failedWith(code), { step: 1, ageMs: 3_000_000 })).toMatchObject({ ...own, waitMs: 300_000 })
    expect(verdict(failedWith(code), { step: 1, ageMs: 400_000_000 })).toMatchObject({ ...own, waitMs: 3_600_000 })
    // Nor does it end a delivery whose schedule is used up: that one has had its attempts.
    expect(verdict(failedWith(code), { step: 2 })).toMatchObject({ state: 2, step: 2 })
    expect(verdict(failedWith(code), { ageMs: 431_990_000 })).toMatchObject({ state: 5, reason: 'expired' })
  }
})

test('only what the receiver or the way to it did says something of its health', () => {
  expect(verdict(answered(204)).health).toBe('good')
  for (const status of [301, 400, 404, 429, 500, 503]) expect(verdict(answered(status)).health).toBe('bad')
  for (const code of ['connect_refused', 'timeout', 'dns_not_found', 'tls_expired', 'response_invalid'] as const) {
    expect(verdict(failedWith(code)).health).toBe('bad')
  }
  expect(verdict(answered(500), { step: 2 })).toMatchObject({ state: 5, health: 'bad' })
  for (const code of ['target_refused', 'url_invalid'] as const)
    expect(verdict(failedWith(code)).health).toBe('unknown')
  expect(verdict(failedWith('aborted', { aborted: true })).health).toBe('unknown')
  expect(verdict(failedWith('connection_reset', { stale: true })).health).toBe('unknown')
  expect(verdict(failedWith('connection_reset', { stale: true }), { fresh: true }).health).toBe('bad')
})
