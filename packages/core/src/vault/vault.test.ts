import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createVault, keyIdOf, VaultError } from './vault.ts'

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

test('the refusal names the keys by their ids, and holds nothing of them', () => {
  const [one, two] = [newKey(), newKey()]
  const sealed = createVault(one).seal('whsec_x')
  try {
    createVault(two).open(sealed)
    expect.fail('it was opened')
  } catch (error) {
    const { message } = error as VaultError
    expect(message).toContain(keyIdOf(sealed.subarray(0, 5)))
    expect(message).toContain(keyIdOf(createVault(two).head))
    for (const key of [one, two]) expect(message).not.toContain(key.slice(0, 8))
  }
})

test('with two keys the current one seals, and what either sealed is opened', () => {
  const [old, fresh] = [newKey(), newKey()]
  const both = createVault(fresh, old)
  expect(both.open(createVault(old).seal('old'))).toBe('old')
  expect(both.open(createVault(fresh).seal('fresh'))).toBe('fresh')
  expect(createVault(fresh).open(both.seal('x'))).toBe('x')
  expect(() => createVault(old).open(both.seal('x'))).toThrow(/another encryption key/)
  expect(() => both.open(createVault(newKey()).seal('x'))).toThrow(/another encryption key/)
  expect(both.heads).toEqual([createVault(fresh).head, createVault(old).head])
  expect(createVault(fresh, fresh).heads).toHaveLength(1)
  expect(() => createVault(fresh, 'x')).toThrow(VaultError)
})

test('what one key sealed cannot be passed off as the other’s', () => {
  const [old, fresh] = [newKey(), newKey()]
  const sealed = createVault(old).seal('x')
  createVault(fresh).head.copy(sealed)
  expect(() => createVault(fresh, old).open(sealed)).toThrow(/changed after it was sealed/)
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
