import type { z } from '@hono/zod-openapi'
import type { Prisma } from '@posthorn/core/prisma'
import type { endpointStatus } from './endpoint.ts'
import { laneStatus } from './lane.ts'

type Status = z.infer<typeof endpointStatus>

/**
 * All that its failures have left at a lane, taken back. An endpoint that is enabled again, or has another URL, starts
 * afresh: with the streak still on record it would be blocked or disabled again at once.
 */
export const forgiven = {
  failuresInARow: 0,
  breakerTrips: 0,
  probing: false,
  blockedUntil: null,
  failingSince: null,
  windowStartedAt: null,
  windowAttempts: 0,
  windowFailures: 0,
  rampCap: null,
} as const satisfies Prisma.LaneUpdateInput

/**
 * What a status that a caller sets writes to the endpoint and its lane, and the event that tells of it. `undefined` leaves
 * it; null is the default. Disabling has what is owed canceled (`draining`); an endpoint that is enabled or paused again
 * keeps what is left.
 */
export function changeOfStatus(current: string, wanted: Status | null | undefined) {
  if (wanted === undefined) return { endpoint: {}, lane: {}, event: null }
  const status = wanted ?? 'enabled'
  if (status === 'disabled') {
    // Why it was disabled first stays on record.
    if (current === 'disabled')
      return { endpoint: {}, lane: { status: laneStatus.disabled, draining: true }, event: null }
    const endpoint = { status, disabledReason: 'by_request' }
    return { endpoint, lane: { status: laneStatus.disabled, draining: true }, event: 'endpoint.disabled' as const }
  }
  const again = current === 'disabled'
  // While it was paused nothing could succeed: that time does not count against it.
  const resumed = current === 'paused' && status === 'enabled'
  return {
    endpoint: { status, disabledReason: null },
    lane: {
      status: laneStatus[status],
      draining: false,
      ...(again ? forgiven : resumed ? { failingSince: null } : {}),
    },
    event: again && status === 'enabled' ? ('endpoint.enabled' as const) : null,
  }
}
