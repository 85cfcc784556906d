import { invalidArgument } from '../errors.ts'

/** What is published: a fact, under a type. */
export type PublishEvent = {
  /** Names of `A-Z a-z 0-9 _ -` joined by full stops: `invoice.paid`. */
  type: string
  /** Only endpoints of one of these channels, and those that take all, are owed it. */
  channels?: readonly string[] | null
  /** Events of one key keep their order, at endpoints that ask for it. */
  ordering_key?: string | null
  /** Not attempted before; at most 30 days ahead. */
  deliver_at?: Date | string | null
} & (
  | {
      /** Any JSON value. Written by `JSON.stringify`, once: what it makes is sent, byte for byte, on every attempt. */
      payload: unknown
      payload_json?: never
    }
  | {
      /** The payload as JSON text, sent as it stands: numbers beyond JavaScript's, and your own spelling. */
      payload_json: string
      payload?: never
    }
)

/** The payload's text. @param at where the event stands in what was given: '' or `/events/3` */
export function payloadText(event: PublishEvent, at = ''): string {
  if (event.payload_json !== undefined) {
    if (typeof event.payload_json !== 'string' || !event.payload_json.isWellFormed()) {
      throw invalidArgument(`${at}/payload_json`, 'must be JSON text, with no half of a surrogate pair in it')
    }
    return event.payload_json
  }
  let text: string | undefined
  try {
    text = JSON.stringify(event.payload)
  } catch (error) {
    const why = error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message
    throw invalidArgument(`${at}/payload`, `cannot be written as JSON: ${why}`, error)
  }
  if (text === undefined) throw invalidArgument(`${at}/payload`, 'must be given: null is a value, undefined is none')
  return text
}

/** A time as the API and SQL read it. */
export function deliverAtText({ deliver_at }: PublishEvent, at = ''): string | null {
  if (!(deliver_at instanceof Date)) return deliver_at ?? null
  if (Number.isNaN(deliver_at.getTime())) throw invalidArgument(`${at}/deliver_at`, 'is an invalid Date')
  return deliver_at.toISOString()
}

/** The event as a body of the API, the payload's text standing in it as it is. */
export function eventText(event: PublishEvent, at = ''): string {
  const { payload: _payload, payload_json: _json, deliver_at: _time, ...fields } = event
  const time = deliverAtText(event, at)
  const head = JSON.stringify(time === null ? fields : { ...fields, deliver_at: time })
  // Text that is more than one value could add members to the envelope.
  if (event.payload_json !== undefined) checkJson(event.payload_json, `${at}/payload_json`)
  return `${head.slice(0, -1)}${head === '{}' ? '' : ','}"payload":${payloadText(event, at)}}`
}

function checkJson(text: string, path: string): void {
  try {
    JSON.parse(text)
  } catch (error) {
    throw invalidArgument(path, `is not JSON: ${(error as Error).message}`, error)
  }
}

export function checkIdempotencyKey(key: string): void {
  if (typeof key === 'string' && /^[ -~]{1,255}$/.test(key)) return
  throw invalidArgument('/idempotencyKey', 'must be 1 to 255 characters of printable ASCII')
}
