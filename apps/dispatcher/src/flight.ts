import { encodeId, type Log, uuidV7 } from '@posthorn/core'
import { type EventToSend, type Lease, outcomeCode, type Settlement, stateCode } from '@posthorn/core/sql'
import type { SendProfile } from './endpoint-cache.ts'
import { deliveryName } from './log-names.ts'
import type { Outcome, Sender } from './sender/index.ts'
import { decide } from './verdict.ts'

/** A lease with all that its attempt needs. */
export type Flight = { lease: Lease; event: EventToSend; profile: SendProfile; claimedAt: number }

/** Text that Postgres can hold: no NUL, no lone surrogate. */
function storable(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd').toWellFormed() : text.toWellFormed()
}

const nothingSent = {
  url: null,
  signature: null,
  userAgent: null,
  headerNames: [],
  responseHeaders: null,
  responseBody: null,
  truncated: false,
  status: null,
  error: null,
  durationMs: null,
  laneWaitMs: 0,
  gone: false,
  waitMs: 0,
  fresh: false,
  health: 'unknown',
} as const

/** The end of a delivery that is too old to be attempted. */
export function expire(lease: Lease): Settlement {
  return {
    ...nothingSent,
    eventId: lease.eventId,
    endpointId: lease.endpointId,
    ticket: lease.ticket,
    attemptId: uuidV7(),
    number: lease.number,
    step: lease.step,
    watched: lease.watched,
    probe: lease.probe,
    head: lease.head,
    outcome: outcomeCode.none,
    state: stateCode.failed,
    reason: 'expired',
    startedAt: new Date(),
  }
}

export type FlightDeps = {
  sender: Sender
  userAgent: string
  defaultSchedule: readonly number[]
  maxAgeMs: number
  random: () => number
  log: Log
}

/**
 * Makes one attempt: signs the event's bytes as they are, sends them, and decides what follows. Never rejects.
 * Headers after Standard Webhooks 1.0.0: the id is the event's on every attempt, the time is the attempt's.
 */
export async function attempt(flight: Flight, signal: AbortSignal, deps: FlightDeps): Promise<Settlement> {
  const { lease, event, profile } = flight
  const now = Date.now()
  const id = encodeId('evt', lease.eventId)
  const timestamp = Math.floor(now / 1000)
  let signature: string | null = null
  let outcome: Outcome
  try {
    const signer = profile.signerAt(now)
    if (signer === null) throw new Error('the endpoint has no live secret')
    signature = signer.sign(id, timestamp, event.payload)
    const headers: Record<string, string> = {}
    // The endpoint's own first: what is ours cannot be overridden by them.
    for (const [name, value] of profile.headers) headers[name.toLowerCase()] = value
    headers['content-type'] = 'application/json'
    headers['user-agent'] = deps.userAgent
    headers['webhook-id'] = id
    headers['webhook-timestamp'] = String(timestamp)
    headers['webhook-signature'] = signature
    headers['posthorn-event-type'] = event.type
    outcome = await deps.sender.send({
      url: profile.url,
      headers,
      body: event.payload,
      timeoutMs: profile.timeoutMs,
      fresh: lease.fresh,
      signal,
    })
  } catch (error) {
    deps.log.error({ err: error, delivery: deliveryName(lease) }, 'an attempt could not be made')
    outcome = {
      startedAt: new Date(now),
      durationMs: Date.now() - now,
      url: profile.url,
      response: null,
      retryAfter: null,
      error: { code: 'internal', phase: 'request', message: 'Posthorn could not make the request' },
      stale: false,
      aborted: false,
    }
  }
  const verdict = decide({
    lease,
    outcome,
    schedule: profile.retrySchedule ?? deps.defaultSchedule,
    ageMs: lease.ageMs + (performance.now() - flight.claimedAt),
    maxAgeMs: deps.maxAgeMs,
    random: deps.random,
    now: new Date(),
  })
  const response = outcome.response
  // Each field by name: copied from other objects it took as long as signing.
  return {
    eventId: lease.eventId,
    endpointId: lease.endpointId,
    ticket: lease.ticket,
    attemptId: uuidV7(),
    number: lease.number,
    outcome: verdict.outcome,
    state: verdict.state,
    reason: verdict.reason,
    step: verdict.step,
    fresh: verdict.fresh,
    waitMs: verdict.waitMs,
    laneWaitMs: verdict.laneWaitMs,
    gone: verdict.gone,
    health: verdict.health,
    watched: lease.watched,
    probe: lease.probe,
    head: lease.head,
    // The time that was signed, so that the request's headers can be shown as they were.
    startedAt: new Date(now),
    durationMs: outcome.durationMs,
    status: response?.status ?? null,
    error: outcome.error && { ...outcome.error, message: storable(outcome.error.message) },
    url: outcome.url,
    signature,
    userAgent: deps.userAgent,
    headerNames: profile.headers.map(([name]) => name.toLowerCase()),
    responseHeaders: response && response.headers.length > 0 ? storable(JSON.stringify(response.headers)) : null,
    responseBody: response?.body ?? null,
    truncated: response?.truncated ?? false,
  }
}
