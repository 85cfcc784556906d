/**
 * Public ids: TypeIDs (spec 0.3: prefix, `_`, the UUID's 128 bits as 26 characters of lower-case Crockford base32).
 * The database holds the UUID; the prefix exists only outside it.
 *
 * Every delivery passes here several times, so the characters are written into one shared buffer and read out as one
 * string: two to three times as fast as joining table entries, whose rope of parts is flattened later anyway.
 */
export type IdPrefix = 'evt' | 'ep' | 'att' | 'job' | 'key'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const hexDigits = '0123456789abcdef'
const bad = 255
const underscore = 0x5f
const suffixLength = 26

const base32Codes = Buffer.from(alphabet, 'latin1')
const hexCodes = Buffer.from(hexDigits, 'latin1')
const base32Values = valuesOf(alphabet)
const hexValues = valuesOf(hexDigits)

/** The offsets of a UUID's 32 digits in its text. */
const digitOffsets = Uint8Array.from({ length: 36 }, (_, at) => at).filter((at) => !isDash(at))

// Only ever used between two synchronous statements, so one buffer of each serves the process.
const encoded = Buffer.alloc(32)
const decoded = Buffer.alloc(36, '-')

/**
 * Writes a UUID as a TypeID.
 * @param uuid 36 characters, lower-case, with dashes, as Postgres prints it
 * @throws TypeError when it is not
 */
export function encodeId(prefix: IdPrefix, uuid: string): string {
  if (!isUuid(uuid)) throw new TypeError('encodeId takes a lower-case UUID with dashes')
  let written = 0
  for (; written < prefix.length; written++) encoded[written] = prefix.charCodeAt(written)
  encoded[written++] = underscore
  // 26 characters carry 130 bits: the first begins with two zero bits.
  let bits = 0
  let held = 2
  for (let i = 0; i < 32; i++) {
    bits = (bits << 4) | hexValues[uuid.charCodeAt(digitOffsets[i]!)]!
    held += 4
    if (held >= 5) {
      held -= 5
      encoded[written++] = base32Codes[(bits >> held) & 31]!
      bits &= (1 << held) - 1
    }
  }
  return encoded.toString('latin1', 0, written)
}

/**
 * Reads a TypeID of one kind.
 * @returns the UUID, lower-case with dashes; null for another prefix, length, letter case or alphabet, or for more
 * than 128 bits. An id has one spelling only.
 */
export function decodeId(prefix: IdPrefix, text: string): string | null {
  const start = prefix.length + 1
  if (text.length !== start + suffixLength || text.charCodeAt(prefix.length) !== underscore) return null
  if (!text.startsWith(prefix)) return null
  let bits = value(base32Values, text.charCodeAt(start))
  if (bits > 7) return null
  let held = 3
  let digit = 0
  for (let at = start + 1; at < text.length; at++) {
    const five = value(base32Values, text.charCodeAt(at))
    if (five === bad) return null
    bits = (bits << 5) | five
    held += 5
    while (held >= 4) {
      held -= 4
      decoded[digitOffsets[digit++]!] = hexCodes[(bits >> held) & 15]!
    }
    bits &= (1 << held) - 1
  }
  return decoded.toString('latin1', 0, 36)
}

function isUuid(text: string): boolean {
  if (text.length !== 36) return false
  for (let at = 0; at < 36; at++) {
    const code = text.charCodeAt(at)
    if (isDash(at) ? code !== 0x2d : value(hexValues, code) === bad) return false
  }
  return true
}

function isDash(at: number): boolean {
  return at === 8 || at === 13 || at === 18 || at === 23
}

function valuesOf(characters: string): Uint8Array {
  const values = new Uint8Array(128).fill(bad)
  for (let i = 0; i < characters.length; i++) values[characters.charCodeAt(i)] = i
  return values
}

function value(values: Uint8Array, code: number): number {
  return code < 128 ? values[code]! : bad
}
