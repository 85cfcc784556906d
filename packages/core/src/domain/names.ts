/**
 * What names may look like. The same rules stand in `posthorn.publish`, in SQL: lengths of free text are counted in
 * code points, as Postgres counts them, and never in UTF-16 units.
 */

/** A tenant's id: the product's own, 1 to 128 long. */
export const tenantIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

/** The tenant that Posthorn keeps for itself. */
export const reservedTenantId = 'posthorn'

/** An event type, as for its letters; its length is bounded by `maxEventTypeLength`. */
export const eventTypePattern = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/

/** An event type, or all below one: `invoice.*`. */
export const eventTypeFilterPattern = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?:\.\*)?$/

/** An idempotency key: printable ASCII, 1 to 255 long. */
export const idempotencyKeyPattern = /^[\x20-\x7e]{1,255}$/

export const maxEventTypeLength = 128
export const maxChannelLength = 128
export const maxOrderingKeyLength = 128

/** Whether the text is a tenant's id that a product may use. */
export function isTenantId(text: string): boolean {
  return tenantIdPattern.test(text) && text !== reservedTenantId
}

/** Whether the text is an event type: words of letters, digits, `_` and `-`, joined by full stops. */
export function isEventType(text: string): boolean {
  return text.length <= maxEventTypeLength && eventTypePattern.test(text)
}

/** Whether an endpoint may ask for this: an event type, or all below one (`invoice.*`). */
export function isEventTypeFilter(text: string): boolean {
  return text.length <= maxEventTypeLength && eventTypeFilterPattern.test(text)
}

/** Whether a filter takes an event type. `invoice.*` takes all below `invoice`, and not `invoice` itself. */
export function eventTypeMatches(filter: string, eventType: string): boolean {
  return filter.endsWith('.*') ? eventType.startsWith(filter.slice(0, -1)) : filter === eventType
}

/** Whether the text is a channel's name: written as event types are. */
export function isChannel(text: string): boolean {
  return text.length <= maxChannelLength && eventTypePattern.test(text)
}

/** Whether the text is an ordering key: any storable text of 1 to 128 code points. */
export function isOrderingKey(text: string): boolean {
  // A code point is one or two units long: what is longer than twice the bound need not be counted.
  if (text.length === 0 || text.length > 2 * maxOrderingKeyLength || !isStorableText(text)) return false
  let codePoints = 0
  for (const _ of text) codePoints++
  return codePoints <= maxOrderingKeyLength
}

/** Whether the text is an idempotency key. */
export function isIdempotencyKey(text: string): boolean {
  return idempotencyKeyPattern.test(text)
}

/** Whether Postgres can hold the text unchanged: no NUL, no lone surrogate (UTF-8 cannot write one). */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
