import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createVault, VaultError } from './vault.ts'

const newKey = () => randomBytes(32).toString('base64')
const vault = createVault(newKey())

test('opens what it sealed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
      expect(vault.open(vault.seal(plain))).toBe(plain)
    }),
  )
})

test('opens a view into a larger buffer, as a database driver hands out', () => {
  const sealed = vault.seal('whsec_x')
  const larger = new Uint8Array(sealed.length + 20)
  larger.set(sealed, 7)
  expect(vault.open(larger.subarray(7, 7 + sealed.length))).toBe('whsec_x')
})

test('the sealed form is as documented, and hides the secret', () => {
  const sealed = vault.seal('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  expect(sealed).toHaveLength(33 + 38)
  expect(sealed[0]).toBe(1)
  expect(sealed.toString('latin1')).not.toContain('MfKQ')
  expect(vault.seal('a').subarray(1, 5)).toEqual(vault.seal('b').subarray(1, 5))
  expect(vault.seal('a').equals(vault.seal('a'))).toBe(false)
})

test('another key opens nothing, and says so', () => {
  expect(() => createVault(newKey()).open(vault.seal('whsec_x'))).toThrow(/sealed with another encryption key/)
})

test('a change of any bit is noticed', () => {
  const sealed = vault.seal('whsec_x')
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    expect(() => vault.open(changed)).toThrow(VaultError)
  }
  for (let length = 0; length < sealed.length; length++) {
    expect(() => vault.open(sealed.subarray(0, length))).toThrow(VaultError)
  }
})

test.each(['', 'x', randomBytes(31).toString('base64'), randomBytes(33).toString('base64'), `${newKey()}\n`])(
  'a key that is none is refused: %j',
  (key) => {
    expect(() => createVault(key)).toThrow(VaultError)
  },
)
