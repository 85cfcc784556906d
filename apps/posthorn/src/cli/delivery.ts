import type { components } from '@posthorn/client'
import type { Column, Style } from './output.ts'

export type Delivery = components['schemas']['Delivery']

export const deliveryStates = ['pending', 'in_flight', 'scheduled', 'succeeded', 'failed', 'canceled'] as const

const styles: Record<Delivery['state'], Style | null> = {
  pending: null,
  in_flight: null,
  scheduled: 'doubtful',
  succeeded: 'good',
  failed: 'bad',
  canceled: 'quiet',
}

export function stateStyle({ state }: Delivery): Style | null {
  return styles[state]
}

/** A delivery's name, as `attempts` and `redeliver` take it. */
export function nameOf({ event_id, endpoint_id }: { event_id: string; endpoint_id: string }): string {
  return `${event_id}/${endpoint_id}`
}

/** What the last attempt came to: a status, or the code of an error. */
export function lastOf({ last_status, last_error, reason }: Delivery): string {
  return [last_status ?? last_error, reason].filter((each) => each !== null).join(' ')
}

/** When it goes on, or when it ended. */
export function whenOf({ next_attempt_at, ended_at }: Delivery): string {
  if (ended_at !== null) return `ended ${ended_at}`
  return next_attempt_at === null ? '' : `next ${next_attempt_at}`
}

export const deliveryColumns: readonly Column<Delivery>[] = [
  { name: 'DELIVERY', of: nameOf },
  { name: 'TYPE', of: ({ event_type }) => event_type },
  { name: 'STATE', of: ({ state }) => state, style: stateStyle },
  { name: 'ATTEMPTS', of: ({ attempts }) => String(attempts) },
  { name: 'LAST', of: lastOf },
  { name: 'WHEN', of: whenOf },
]
