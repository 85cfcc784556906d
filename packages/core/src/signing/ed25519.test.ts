import { sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { generateSigningKey, parsePublicKey, parseSigningKey } from './ed25519.ts'

const privateKey = 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=='

test('a generated pair is one, and its halves fit', () => {
  const pair = generateSigningKey()
  expect(pair.secret).toMatch(/^whsk_[A-Za-z0-9+/]{86}==$/)
  expect(pair.publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/)
  const parsed = parseSigningKey(pair.secret)
  expect(parsed.publicKey).toBe(pair.publicKey)
  const signature = sign(null, Buffer.from('x'), parsed.key!)
  expect(verify(null, Buffer.from('x'), parsePublicKey(pair.publicKey)!, signature)).toBe(true)
  expect(generateSigningKey().secret).not.toBe(pair.secret)
})

const bytes = Buffer.from(privateKey.slice(5), 'base64')
const written = (key: Buffer) => `whsk_${key.toString('base64')}`

test.each([
  ['', /begins with "whsk_"/],
  ['whsk_', /64 bytes/],
  ['whsk_%', /64 bytes/],
  ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', /begins with "whsk_"/],
  ['whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=', /begins with "whsk_"/],
  [` ${privateKey}`, /begins with "whsk_"/],
  [`${privateKey}\n`, /64 bytes/],
  [written(bytes.subarray(0, 32)), /64 bytes/],
  [written(bytes.subarray(0, 63)), /64 bytes/],
  [written(Buffer.concat([bytes, bytes])), /64 bytes/],
  [privateKey.slice(0, -1), /64 bytes/],
  [privateKey.replace('/', '_'), /standard base64/],
  [privateKey.replace('==', 'AA'), /base64 of 64 bytes/],
  [written(Buffer.concat([bytes.subarray(0, 32), bytes.subarray(0, 32)])), /public key of the first 32/],
  [written(Buffer.alloc(64)), /public key of the first 32/],
  [`whsk_${'A'.repeat(1_000_000)}`, /64 bytes/],
])('what is no key pair is refused with the rule: %#', (text, rule) => {
  const parsed = parseSigningKey(text)
  expect(parsed.key).toBeNull()
  expect(parsed.reason).toMatch(rule)
  if (text.length > 10) expect(parsed.reason).not.toContain(text.slice(6))
})

test.each(['', 'whpk_', 'whpk_AAAA', privateKey, `whpk_${Buffer.alloc(33).toString('base64')}`])(
  'what is no public key is none: %s',
  (text) => {
    expect(parsePublicKey(text)).toBeNull()
  },
)
