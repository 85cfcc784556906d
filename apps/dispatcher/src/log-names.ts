import { encodeId } from '@posthorn/core'

/** An endpoint as it is written wherever a person reads it: in the log as in the API. */
export function endpointName(endpointId: string): string {
  return encodeId('ep', endpointId)
}

/** A delivery likewise: `evt_.../ep_...`. */
export function deliveryName({ eventId, endpointId }: { eventId: string; endpointId: string }): string {
  return `${encodeId('evt', eventId)}/${encodeId('ep', endpointId)}`
}
