import { randomFillSync } from 'node:crypto'

const hexCodes = Buffer.from('0123456789abcdef', 'latin1')
const bytesPerUuid = 8
const maxCounter = 0xfff
/** How far the clock may step back and still be waited out; past it the clock is believed. */
const maxStepBackMs = 10_000

// One call for 512 ids: a call to the random source costs more than all the rest.
const pool = Buffer.alloc(512 * bytesPerUuid)
let poolAt = pool.length
const text = Buffer.alloc(36, '-')

let lastMs = 0
let counter = 0

/**
 * Makes a UUIDv7 (RFC 9562), lower-case with dashes.
 *
 * Without an argument the ids of this process rise strictly: the 12 bits after the time count (method 1 of section
 * 6.2), from a random start in each millisecond, and past their end the next millisecond is borrowed. A clock that
 * steps back by up to 10 s is waited out in the same way.
 *
 * @param ms the Unix time in milliseconds to put in; such ids do not take part in the count
 */
export function uuidV7(ms?: number): string {
  if (poolAt === pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  const at = poolAt
  poolAt += bytesPerUuid
  // 62 bits of the pool's 64 go into the tail, so the count's start is drawn apart: it needs no secrecy.
  const random12 = (Math.random() * 0x1000) | 0
  if (ms !== undefined) {
    if (!Number.isInteger(ms) || ms < 0 || ms > 0xffff_ffff_ffff) throw new RangeError('uuidV7 takes 48 bits of time')
    return write(ms, random12, at)
  }
  const now = Date.now()
  if (now > lastMs || lastMs - now > maxStepBackMs) {
    lastMs = now
    counter = random12 >> 1
  } else if (++counter > maxCounter) {
    lastMs++
    counter = random12 >> 1
  }
  return write(lastMs, counter, at)
}

function write(ms: number, afterTime: number, randomAt: number): string {
  const high = Math.floor(ms / 0x10000)
  const low = ms & 0xffff
  put(0, high >>> 24)
  put(2, (high >>> 16) & 0xff)
  put(4, (high >>> 8) & 0xff)
  put(6, high & 0xff)
  put(9, low >> 8)
  put(11, low & 0xff)
  put(14, 0x70 | (afterTime >> 8))
  put(16, afterTime & 0xff)
  put(19, 0x80 | (pool[randomAt]! & 0x3f))
  put(21, pool[randomAt + 1]!)
  for (let i = 0; i < 6; i++) put(24 + 2 * i, pool[randomAt + 2 + i]!)
  return text.toString('latin1', 0, 36)
}

function put(at: number, byte: number): void {
  text[at] = hexCodes[byte >> 4]!
  text[at + 1] = hexCodes[byte & 15]!
}
