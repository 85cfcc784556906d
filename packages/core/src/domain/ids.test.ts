import fc from 'fast-check'
import { TypeID } from 'typeid-js'
import { describe, expect, test } from 'vitest'
import { decodeId, encodeId, type IdPrefix } from './ids.ts'
import { uuidV7 } from './uuid-v7.ts'

const prefixes: IdPrefix[] = ['evt', 'ep', 'att', 'job', 'key']
const anyUuid = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
)

describe('encodeId', () => {
  test('writes what the typeid-js package writes', () => {
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), anyUuid, (prefix, uuid) => {
        expect(encodeId(prefix, uuid)).toBe(TypeID.fromUUID(prefix, uuid).toString())
      }),
    )
  })

  test.each([
    ['00000000-0000-0000-0000-000000000000', 'evt_00000000000000000000000000'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'evt_7zzzzzzzzzzzzzzzzzzzzzzzzz'],
    ['01890a5d-ac96-774b-bcce-b302099a8057', 'evt_01h455vb4pex5vsknk084sn02q'],
  ])('writes the specification’s vector of %s', (uuid, id) => {
    expect(encodeId('evt', uuid)).toBe(id)
    expect(decodeId('evt', id)).toBe(uuid)
  })

  test.each(['', 'x', '01890A5D-AC96-774B-BCCE-B302099A8057', '01890a5dac96774bbcceb302099a8057'])(
    'throws for what is no UUID as Postgres prints it: %j',
    (text) => {
      expect(() => encodeId('evt', text)).toThrow(TypeError)
    },
  )
})

describe('decodeId', () => {
  test('reads back each id', () => {
    fc.assert(
      fc.property(fc.constantFrom(...prefixes), anyUuid, (prefix, uuid) => {
        expect(decodeId(prefix, encodeId(prefix, uuid))).toBe(uuid)
      }),
    )
  })

  test('reads nothing but the one spelling of an id', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ minLength: 26, maxLength: 26 }).map((s) => `evt_${s}`),
        ),
        (text) => {
          const uuid = decodeId('evt', text)
          if (uuid !== null) expect(encodeId('evt', uuid)).toBe(text)
        },
      ),
    )
  })

  test.each([
    '',
    'evt',
    'evt_',
    'ep_01h455vb4pex5vsknk084sn02q',
    'EVT_01h455vb4pex5vsknk084sn02q',
    'evt_01H455VB4PEX5VSKNK084SN02Q',
    'evt_01h455vb4pex5vsknk084sn02',
    'evt_01h455vb4pex5vsknk084sn02qq',
    'evt_81h455vb4pex5vsknk084sn02q',
    'evt_01h455vb4pex5vsknk084sn02i',
    'evt_01h455vb4pex5vsknk084sn0l0',
    'evt_01h455vb4pex5vsknk084sn0u0',
    'evt_01h455vb4pex5vsknk084sn02\0',
    'evt_01h455vb4pex5vsknk084sn02ű',
    'evt-01h455vb4pex5vsknk084sn02q',
    ' evt_01h455vb4pex5vsknk084sn02q',
    'evt_01h455vb4pex5vsknk084sn02q\n',
    '01890a5d-ac96-774b-bcce-b302099a8057',
  ])('refuses %j', (text) => {
    expect(decodeId('evt', text)).toBeNull()
  })
})

describe('uuidV7', () => {
  const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

  test('rises strictly within a process, and never repeats', () => {
    let last = ''
    for (let i = 0; i < 20_000; i++) {
      const next = uuidV7()
      if (next <= last || !shape.test(next)) expect.fail(`${next} after ${last}`)
      last = next
    }
  })

  test('carries the time', () => {
    const before = Date.now()
    const ms = timeOf(uuidV7())
    expect(ms).toBeGreaterThanOrEqual(before)
    // The strict rise may borrow a few milliseconds from the future.
    expect(ms).toBeLessThan(Date.now() + 1_000)
    expect(timeOf(uuidV7(0))).toBe(0)
    expect(timeOf(uuidV7(0xffff_ffff_ffff))).toBe(0xffff_ffff_ffff)
    expect(timeOf(uuidV7(1_645_557_742_000))).toBe(1_645_557_742_000)
    expect(uuidV7(1_645_557_742_000)).toMatch(/^017f22e2-79b0-7/)
  })

  test.each([-1, 1.5, Number.NaN, 2 ** 48])('throws for the time %d', (ms) => {
    expect(() => uuidV7(ms)).toThrow(RangeError)
  })

  function timeOf(uuid: string): number {
    return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
  }
})
