import { isUtf8 } from 'node:buffer'
import {
  byteOrderMark,
  type EnvelopeError,
  invalidJson,
  invalidUtf8,
  nestedTooDeeply,
  notAnArray,
  notAnObject,
  payloadTooLarge,
  pointer,
  repeatedKey,
  tooManyEvents,
} from './envelope-error.ts'
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  JsonFault,
  openBrace,
  openBracket,
  quote,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
} from './skip.ts'

/**
 * Reads the envelope of a publish: its small fields as values, its payload as a span of the request's own bytes. The
 * payload is never parsed and written again: what lies between `start` and `end` is what is stored, signed and sent.
 *
 * Measured with Node 24 on two busy cores (user CPU, best of six; `JSON.parse(body.toString())` in brackets): a body of
 * 1 KiB 7 to 8 us when it is many small members (9), 3 us when it is text; one of 1 MiB 4 ms (8); a batch of a thousand
 * of 1 KiB 7 ms (8, and the spans would still be unknown).
 */
export type Span = {
  /** The offset of the value's first byte. */
  start: number
  /** The offset behind its last byte. */
  end: number
}

export type ScannedEvent = {
  /** All members but the payload, parsed; without a prototype, so that a member `__proto__` is one like others. */
  fields: Record<string, unknown>
  /** Where the payload stands, white space around it left out; null when it is missing. */
  payload: Span | null
}

export type ScannedBatch = {
  /** All members but `events`. */
  fields: Record<string, unknown>
  /** Null when the member is missing. */
  events: ScannedEvent[] | null
}

export type EnvelopeLimits = { maxPayloadBytes: number }
export type BatchLimits = EnvelopeLimits & { maxEvents: number }

type Scan = {
  body: Buffer
  limits: BatchLimits
  /** The first thing refused in a body that may still prove to be no JSON at all: that is told first. */
  refusal: EnvelopeError | null
}

/**
 * Scans `{"type": ..., "payload": ..., ...}`.
 * @throws EnvelopeError 400 for bytes that are no UTF-8 or no JSON, a byte-order mark, a payload or a field nested
 * deeper than 500 and a repeated key; 413 for a payload past `maxPayloadBytes`; 422 for what is no object
 */
export function scanEnvelope(body: Buffer, limits: EnvelopeLimits): ScannedEvent {
  return scanWhole(body, { maxPayloadBytes: limits.maxPayloadBytes, maxEvents: 1 }, (scan, at) => {
    const event: ScannedEvent = { fields: noFields(), payload: null }
    return { end: readEvent(scan, at, '', event), value: event }
  })
}

/**
 * Scans `{"events": [{"type": ..., "payload": ...}, ...]}`, each event as `scanEnvelope` does one.
 * @throws EnvelopeError as `scanEnvelope`, with paths like `/events/3/payload`; 422 also for `events` that is no array
 * or has more than `maxEvents`
 */
export function scanBatch(body: Buffer, limits: BatchLimits): ScannedBatch {
  return scanWhole(body, limits, (scan, at) => {
    const batch: ScannedBatch = { fields: noFields(), events: null }
    const end = readMembers(scan, at, '', batch.fields, 'events', (valueAt) => {
      batch.events = []
      return readEvents(scan, valueAt, batch.events)
    })
    return { end, value: batch }
  })
}

type Read<T> = (scan: Scan, at: number) => { end: number; value: T }

function scanWhole<T>(body: Buffer, limits: BatchLimits, readObject: Read<T>): T {
  if (body.length >= 3 && body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) throw byteOrderMark()
  if (!isUtf8(body)) throw invalidUtf8()
  const scan: Scan = { body, limits, refusal: null }
  try {
    const at = skipSpace(body, 0)
    let value: T | undefined
    let end: number
    if (body[at] === openBrace) {
      const read = readObject(scan, at)
      value = read.value
      end = read.end
    } else {
      end = skip(body, at, '')
      scan.refusal = notAnObject('')
    }
    end = skipSpace(body, end)
    if (end !== body.length) throw new JsonFault('syntax', end)
    if (scan.refusal !== null) throw scan.refusal
    return value as T
  } catch (error) {
    if (error instanceof JsonFault && error.kind === 'syntax') throw invalidJson(error.offset, body.length)
    throw error
  }
}

function readEvents(scan: Scan, at: number, events: ScannedEvent[]): number {
  const { body } = scan
  if (body[at] !== openBracket) {
    scan.refusal ??= notAnArray('/events')
    return skip(body, at, '/events')
  }
  let i = skipSpace(body, at + 1)
  if (body[i] === closeBracket) return i + 1
  for (let index = 0; ; index++) {
    const path = `/events/${index}`
    // Read on, so that a broken body is told to be broken, but keep no more than was allowed.
    if (index === scan.limits.maxEvents) scan.refusal ??= tooManyEvents(scan.limits.maxEvents)
    if (body[i] !== openBrace) {
      scan.refusal ??= notAnObject(path)
      i = skip(body, i, path)
    } else if (index >= scan.limits.maxEvents) {
      i = skip(body, i, path)
    } else {
      const event: ScannedEvent = { fields: noFields(), payload: null }
      i = readEvent(scan, i, path, event)
      events.push(event)
    }
    i = skipSpace(body, i)
    if (body[i] === closeBracket) return i + 1
    if (body[i] !== comma) throw new JsonFault('syntax', i)
    i = skipSpace(body, i + 1)
  }
}

function readEvent(scan: Scan, at: number, path: string, event: ScannedEvent): number {
  return readMembers(scan, at, path, event.fields, 'payload', (start) => {
    const end = skip(scan.body, start, `${path}/payload`)
    event.payload = { start, end }
    if (end - start > scan.limits.maxPayloadBytes) {
      scan.refusal ??= payloadTooLarge(`${path}/payload`, end - start, scan.limits.maxPayloadBytes)
    }
    return end
  })
}

/**
 * Reads the object at `at` into `fields`; the member `special` goes to `readSpecial` instead.
 * @returns the offset behind the object
 */
function readMembers(
  scan: Scan,
  at: number,
  path: string,
  fields: Record<string, unknown>,
  special: string,
  readSpecial: (at: number) => number,
): number {
  const { body } = scan
  let specialSeen = false
  let i = skipSpace(body, at + 1)
  if (body[i] === closeBrace) return i + 1
  for (;;) {
    const keyEnd = skipString(body, i)
    // Keys are compared as they read, not as they are spelled: "type" and "\u0074ype" are one key.
    const key = stringAt(body, i, keyEnd)
    i = skipColon(body, keyEnd)
    if (key === special ? specialSeen : key in fields) {
      scan.refusal ??= repeatedKey(path, key)
      i = skip(body, i, path, key)
    } else if (key === special) {
      specialSeen = true
      i = readSpecial(i)
    } else {
      const end = skip(body, i, path, key)
      fields[key] = valueAt(body, i, end)
      i = end
    }
    i = skipSpace(body, i)
    if (body[i] === closeBrace) return i + 1
    if (body[i] !== comma) throw new JsonFault('syntax', i)
    i = skipSpace(body, i + 1)
  }
}

/** `skipValue`, its nesting fault told by path: further reading of such a value is not worth its while. */
function skip(body: Buffer, at: number, path: string, key?: string): number {
  try {
    return skipValue(body, at)
  } catch (error) {
    if (!(error instanceof JsonFault) || error.kind !== 'nesting') throw error
    throw nestedTooDeeply(key === undefined ? path : pointer(path, key))
  }
}

function valueAt(body: Buffer, start: number, end: number): unknown {
  return body[start] === quote ? stringAt(body, start, end) : JSON.parse(body.toString('utf8', start, end))
}

/** The value of the string whose quotes stand at `start` and `end - 1`. */
function stringAt(body: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i++) {
    if (body[i] === backslash) return JSON.parse(body.toString('utf8', start, end)) as string
  }
  return body.toString('utf8', start + 1, end - 1)
}

function noFields(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>
}
