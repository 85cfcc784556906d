/** Bounds of a walk over events' ids, newest first. An id begins with its time, so times bound it too. */

const highest = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const dayMs = 86_400_000
const lowest = '00000000-0000-0000-0000-000000000000'

/** As lists filter: `since` inclusive, `until` exclusive, both on the event's created_at. */
export type Period = { since?: Date | undefined; until?: Date | undefined }

/** The lowest and highest id of a period, both inclusive. */
export function idBounds({ since, until }: Period): { low: string; high: string } {
  return {
    low: since === undefined ? lowest : uuidFloor(since),
    high: until === undefined ? highest : before(uuidFloor(until)),
  }
}

/** The lower of two ids: text of UUIDs in lower case orders as they do. */
export function lower(a: string, b: string): string {
  return a < b ? a : b
}

/** The id just below this one. */
export function before(id: string): string {
  const value = BigInt(`0x${id.replaceAll('-', '')}`)
  return value === 0n ? lowest : write(value - 1n)
}

/** The id just above this one. */
export function after(id: string): string {
  const value = BigInt(`0x${id.replaceAll('-', '')}`)
  return id === highest ? highest : write(value + 1n)
}

/** The lowest id of the day after this one's: where its partition ends. */
export function dayAfter(id: string): string {
  const day = Math.floor(uuidTime(id).getTime() / dayMs)
  return uuidFloor(new Date((day + 1) * dayMs))
}

// As posthorn.uuid_floor has it; a time before 1970 is below every id, as 1970 is.
function uuidFloor(time: Date): string {
  return write(BigInt(Math.max(0, time.getTime())) << 80n)
}

function write(value: bigint): string {
  const hex = value.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The moment in a UUIDv7: an event's created_at. */
export function uuidTime(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}
