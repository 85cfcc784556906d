import { maxNesting } from './skip.ts'

/** The codes of a refused envelope, as problem documents carry them. */
export type EnvelopeErrorCode =
  | 'invalid_utf8'
  | 'byte_order_mark'
  | 'invalid_json'
  | 'nested_too_deeply'
  | 'repeated_key'
  | 'not_an_object'
  | 'not_an_array'
  | 'too_many_events'
  | 'payload_too_large'

/** A request's body that is refused before its fields are looked at. All parts are fit to be answered. */
export class EnvelopeError extends Error {
  override name = 'EnvelopeError'
  readonly status: 400 | 413 | 422
  readonly code: EnvelopeErrorCode
  /** One sentence. */
  readonly detail: string
  /** A JSON pointer into the body, `''` for the whole. */
  readonly path: string

  constructor(status: 400 | 413 | 422, code: EnvelopeErrorCode, detail: string, path: string) {
    super(detail)
    this.status = status
    this.code = code
    this.detail = detail
    this.path = path
  }
}

export function invalidUtf8(): EnvelopeError {
  return new EnvelopeError(400, 'invalid_utf8', 'The body is not valid UTF-8.', '')
}

export function byteOrderMark(): EnvelopeError {
  return new EnvelopeError(400, 'byte_order_mark', 'The body begins with a byte-order mark: send it without one.', '')
}

export function invalidJson(offset: number, length: number): EnvelopeError {
  const detail = length === 0 ? 'The body is empty.' : `The body is not JSON: see byte ${offset} of ${length}.`
  return new EnvelopeError(400, 'invalid_json', detail, '')
}

export function nestedTooDeeply(path: string): EnvelopeError {
  return new EnvelopeError(400, 'nested_too_deeply', `Nested deeper than ${maxNesting}.`, path)
}

export function repeatedKey(path: string, key: string): EnvelopeError {
  const name = shortKey(key)
  return new EnvelopeError(400, 'repeated_key', `The key ${JSON.stringify(name)} is repeated.`, pointer(path, name))
}

export function notAnObject(path: string): EnvelopeError {
  return new EnvelopeError(422, 'not_an_object', 'Must be a JSON object.', path)
}

export function notAnArray(path: string): EnvelopeError {
  return new EnvelopeError(422, 'not_an_array', 'Must be an array.', path)
}

export function tooManyEvents(max: number): EnvelopeError {
  return new EnvelopeError(422, 'too_many_events', `At most ${max} events are taken at once.`, '/events')
}

export function payloadTooLarge(path: string, size: number, max: number): EnvelopeError {
  const detail = `The payload has ${size} bytes; at most ${max} are taken.`
  return new EnvelopeError(413, 'payload_too_large', detail, path)
}

/** A JSON pointer (RFC 6901) one member further down. */
export function pointer(path: string, key: string): string {
  return `${path}/${shortKey(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** A key as an answer may repeat it: bounded, and writable in UTF-8. */
function shortKey(key: string): string {
  return (key.length > 100 ? `${key.slice(0, 100)}…` : key).toWellFormed()
}
