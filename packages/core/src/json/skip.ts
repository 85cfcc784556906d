/**
 * A validating reader of JSON text (RFC 8259) that makes nothing: it finds where a value ends.
 *
 * `JSON.parse` would tell validity too, but builds the whole value only to throw it away, and its stack is the only
 * bound on nesting. One pass over the bytes does both, in less time. It accepts what `JSON.parse`
 * accepts, nesting apart (a property test holds them together); that the bytes are UTF-8 is checked before.
 */

/** How deep arrays and objects may lie in one another. */
export const maxNesting = 500

/** Why the bytes are no JSON value that is taken, and where. */
export class JsonFault extends Error {
  override name = 'JsonFault'
  readonly kind: 'syntax' | 'nesting'
  /** The offset in bytes at which reading stopped. */
  readonly offset: number

  constructor(kind: 'syntax' | 'nesting', offset: number) {
    super(kind === 'syntax' ? `not JSON at byte ${offset}` : `nested deeper than ${maxNesting} at byte ${offset}`)
    this.kind = kind
    this.offset = offset
  }
}

export const quote = 0x22
export const comma = 0x2c
export const openBracket = 0x5b
export const closeBracket = 0x5d
export const openBrace = 0x7b
export const closeBrace = 0x7d
export const backslash = 0x5c
const colon = 0x3a
const minus = 0x2d
const plus = 0x2b
const point = 0x2e
const zero = 0x30
const blank = 0x20

// Bits of a byte's class.
const space = 1
const digit = 2
/** Stops the run of plain characters in a string: a quote, a backslash, a control character. */
const stop = 4
const hexDigit = 8
const shortEscape = 16
const classes = classTable()

const literals = { 116: Buffer.from('true'), 102: Buffer.from('false'), 110: Buffer.from('null') } as const
const isObject = new Uint8Array(maxNesting + 1)

/** The offset of the first byte from `at` that is no white space. */
export function skipSpace(body: Buffer, at: number): number {
  // Mostly there is none. Past the end the byte is undefined, and not greater than anything.
  if (body[at]! > blank) return at
  const end = body.length
  let i = at
  while (i < end && (classes[body[i]!]! & space) !== 0) i++
  return i
}

/** The offset behind the string whose opening quote stands at `at`. @throws JsonFault */
export function skipString(body: Buffer, at: number): number {
  if (body[at] !== quote) throw new JsonFault('syntax', at)
  const end = body.length
  let i = at + 1
  for (;;) {
    while (i < end && (classes[body[i]!]! & stop) === 0) i++
    const byte = body[i]
    if (byte === quote) return i + 1
    if (byte !== backslash) throw new JsonFault('syntax', i)
    i = skipEscape(body, i)
  }
}

/** From a key's opening quote to its value's first byte. @throws JsonFault */
export function skipColon(body: Buffer, at: number): number {
  const i = skipSpace(body, at)
  if (body[i] !== colon) throw new JsonFault('syntax', i)
  return skipSpace(body, i + 1)
}

/**
 * The offset behind the value that begins at `at`, which must not be white space.
 * @throws JsonFault when it is no JSON, or is nested deeper than `maxNesting`, measured on this value alone
 */
export function skipValue(body: Buffer, at: number): number {
  let depth = 0
  let i = at
  for (;;) {
    const byte = body[i]
    if (byte === quote) {
      i = skipString(body, i)
    } else if (byte === openBrace || byte === openBracket) {
      if (depth === maxNesting) throw new JsonFault('nesting', i)
      const object = byte === openBrace
      i = skipSpace(body, i + 1)
      if (body[i] === (object ? closeBrace : closeBracket)) {
        i++
      } else {
        isObject[++depth] = object ? 1 : 0
        if (object) i = skipColon(body, skipString(body, i))
        continue
      }
    } else {
      i = skipScalar(body, i)
    }

    // Behind a value: close what ends here, then go to the next.
    for (;;) {
      if (depth === 0) return i
      i = skipSpace(body, i)
      const after = body[i]
      const inObject = isObject[depth] === 1
      if (after === comma) {
        i = skipSpace(body, i + 1)
        if (inObject) i = skipColon(body, skipString(body, i))
        break
      }
      if (after !== (inObject ? closeBrace : closeBracket)) throw new JsonFault('syntax', i)
      depth--
      i++
    }
  }
}

function skipEscape(body: Buffer, at: number): number {
  const byte = body[at + 1]
  if (byte === undefined) throw new JsonFault('syntax', at + 1)
  if ((classes[byte]! & shortEscape) !== 0) return at + 2
  if (byte !== 0x75) throw new JsonFault('syntax', at + 1)
  for (let i = at + 2; i < at + 6; i++) {
    if (i >= body.length || (classes[body[i]!]! & hexDigit) === 0) throw new JsonFault('syntax', i)
  }
  return at + 6
}

function skipScalar(body: Buffer, at: number): number {
  const byte = body[at]
  if (byte === 0x74 || byte === 0x66 || byte === 0x6e) {
    const literal = literals[byte]
    for (let i = 1; i < literal.length; i++) {
      if (body[at + i] !== literal[i]) throw new JsonFault('syntax', at + i)
    }
    return at + literal.length
  }
  return skipNumber(body, at)
}

function skipNumber(body: Buffer, at: number): number {
  let i = body[at] === minus ? at + 1 : at
  // No number goes on after a leading zero, so 01 is faulted at its second digit by whoever reads on.
  i = body[i] === zero ? i + 1 : skipDigits(body, i)
  if (body[i] === point) i = skipDigits(body, i + 1)
  if (body[i] === 0x65 || body[i] === 0x45) {
    const sign = body[i + 1]
    i = skipDigits(body, sign === plus || sign === minus ? i + 2 : i + 1)
  }
  return i
}

function skipDigits(body: Buffer, at: number): number {
  let i = at
  while (i < body.length && (classes[body[i]!]! & digit) !== 0) i++
  if (i === at) throw new JsonFault('syntax', at)
  return i
}

function classTable(): Uint8Array {
  const table = new Uint8Array(256)
  const add = (bytes: string, bit: number) => {
    for (const byte of Buffer.from(bytes)) table[byte]! |= bit
  }
  add(' \t\n\r', space)
  add('0123456789', digit)
  add('0123456789abcdefABCDEF', hexDigit)
  add('"\\/bfnrt', shortEscape)
  add('"\\', stop)
  for (let byte = 0; byte < 0x20; byte++) table[byte]! |= stop
  return table
}
