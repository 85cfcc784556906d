import type { z } from '@hono/zod-openapi'
import type { endpointStatus } from './endpoint.ts'
import { laneStatus } from './lane.ts'

type Status = z.infer<typeof endpointStatus>

// A disabled endpoint starts afresh: with what made it fail still on record, it would be blocked or disabled again at once.
const forgiven = { failuresInARow: 0, breakerTrips: 0, probing: false, blockedUntil: null, failingSince: null }

/**
 * What a status that a caller sets writes to the endpoint and its lane. `undefined` leaves it; null is the default.
 * Disabling has what is owed canceled (`draining`); an endpoint that is enabled or paused again keeps what is left.
 */
export function changeOfStatus(current: string, wanted: Status | null | undefined) {
  if (wanted === undefined) return { endpoint: {}, lane: {} }
  const status = wanted ?? 'enabled'
  if (status === 'disabled') {
    // Why it was disabled first stays on record.
    const endpoint = current === 'disabled' ? {} : { status, disabledReason: 'by_request' }
    return { endpoint, lane: { status: laneStatus.disabled, draining: true } }
  }
  const lane = { status: laneStatus[status], draining: false, ...(current === 'disabled' ? forgiven : {}) }
  return { endpoint: { status, disabledReason: null }, lane }
}
