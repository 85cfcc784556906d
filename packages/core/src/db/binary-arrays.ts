/**
 * Arrays as parameters in Postgres's binary format (array_recv in src/backend/utils/adt/arrayfuncs.c): no value is written out
 * as text here and read again there, and none is escaped. A settle's 250 rows of 29 columns cost the server a fifth of what they
 * cost as one JSON value.
 *
 * Layout, all big-endian: dimensions, whether there are nulls, the elements' type; of the one dimension its length and its
 * lower bound; then each element's length (-1 for a null) and bytes.
 *
 * Each takes what gives an element for an item. An array of nothing but nulls is null: `unnest` pads it.
 */
type Kind<T> = {
  oid: number
  /** Bytes of an element. */
  size(value: T): number
  write(to: Buffer, value: T, at: number): void
}

const headBytes = 20

/** As writeInt32BE, which checks each value's range first, and takes as long again for it. */
function put32(to: Buffer, value: number, at: number): void {
  to[at] = value >>> 24
  to[at + 1] = value >>> 16
  to[at + 2] = value >>> 8
  to[at + 3] = value
}

function arrayOf<T>(kind: Kind<T>) {
  return <Item>(items: readonly Item[], of: (item: Item, at: number) => T | null | undefined): Buffer | null => {
    const values: (T | null)[] = []
    let bytes = headBytes
    let nulls = 0
    for (let at = 0; at < items.length; at++) {
      const value = of(items[at]!, at) ?? null
      values.push(value)
      bytes += 4
      if (value === null) nulls++
      else bytes += kind.size(value)
    }
    if (nulls === items.length) return null
    const to = Buffer.allocUnsafe(bytes)
    put32(to, 1, 0)
    put32(to, nulls > 0 ? 1 : 0, 4)
    put32(to, kind.oid, 8)
    put32(to, items.length, 12)
    put32(to, 1, 16)
    let offset = headBytes
    for (const value of values) {
      const size = value === null ? -1 : kind.size(value)
      put32(to, size, offset)
      offset += 4
      if (value === null) continue
      kind.write(to, value, offset)
      offset += size
    }
    return to
  }
}

function whole(value: number, least: number, most: number): number {
  if (!(Number.isInteger(value) && value >= least && value <= most)) throw new RangeError(`${value} is out of range`)
  return value
}

export const booleans = arrayOf<boolean>({
  oid: 16,
  size: () => 1,
  write: (to, value, at) => {
    to[at] = value ? 1 : 0
  },
})

export const smallints = arrayOf<number>({
  oid: 21,
  size: () => 2,
  write: (to, value, at) => {
    whole(value, -0x8000, 0x7fff)
    to[at] = value >>> 8
    to[at + 1] = value
  },
})

export const integers = arrayOf<number>({
  oid: 23,
  size: () => 4,
  write: (to, value, at) => put32(to, whole(value, -0x80000000, 0x7fffffff), at),
})

/** Whole numbers, or decimal texts of those past 2^53. */
export const bigints = arrayOf<number | string>({
  oid: 20,
  size: () => 8,
  write: (to, value, at) => {
    const number = Number(value)
    if (!Number.isSafeInteger(number)) {
      to.writeBigInt64BE(BigInt(value), at)
      return
    }
    put32(to, Math.floor(number / 0x100000000), at)
    put32(to, number >>> 0, at + 4)
  },
})

/** Lone surrogates become U+FFFD; a NUL is refused by the server. */
export const texts = arrayOf<string>({
  oid: 25,
  size: (value) => Buffer.byteLength(value),
  write: (to, value, at) => {
    to.write(value, at)
  },
})

export const byteas = arrayOf<Uint8Array>({
  oid: 17,
  size: (value) => value.length,
  write: (to, value, at) => to.set(value, at),
})

/** The value of a hexadecimal digit's code; 255 of any other. */
const digits = new Uint8Array(256).fill(255)
for (let value = 0; value < 16; value++) {
  digits[value.toString(16).charCodeAt(0)] = value
  digits[value.toString(16).toUpperCase().charCodeAt(0)] = value
}

/** In their usual form, of 36 characters. */
export const uuids = arrayOf<string>({
  oid: 2950,
  size: () => 16,
  write: (to, value, at) => {
    let read = 0
    for (let byte = 0; byte < 16; byte++) {
      if (byte === 4 || byte === 6 || byte === 8 || byte === 10) read++
      const high = digits[value.charCodeAt(read)] ?? 255
      const low = digits[value.charCodeAt(read + 1)] ?? 255
      if ((high | low) > 15) throw new RangeError('not a UUID')
      to[at + byte] = (high << 4) | low
      read += 2
    }
  },
})
