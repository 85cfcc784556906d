import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { generateSecret, parseSecret } from './secret.ts'

const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 0xfb).toString('base64')}`

test('a generated secret is one, unpadded, and the official library takes it', () => {
  const secret = generateSecret()
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
  expect(parseSecret(secret).key).toHaveLength(24)
  expect(() => new Webhook(secret)).not.toThrow()
  expect(generateSecret()).not.toBe(secret)
})

test.each([24, 25, 26, 32, 48, 63, 64])('a secret of %d bytes is taken', (bytes) => {
  expect(parseSecret(secretOf(bytes)).key).toEqual(Buffer.alloc(bytes, 0xfb))
})

test.each([
  ['w', /begins with "whsec_"/],
  ['', /begins with "whsec_"/],
  ['hwsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', /begins with "whsec_"/],
  [' whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', /begins with "whsec_"/],
  ['whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=', /begins with "whsec_"/],
  ['whsk_6Xb/dCcHpPea21PS1N9VY/NZW723', /begins with "whsec_"/],
  ['v1,whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', /begins with "whsec_"/],
  ['whsec_', /24 to 64 bytes, not 0/],
  ['whsec_%', /is standard base64/],
  ['whsec_wronglength', /padded/],
  [secretOf(23), /24 to 64 bytes, not 23/],
  [secretOf(65), /24 to 64 bytes, not 65/],
  [secretOf(66), /24 to 64 bytes, not 66/],
  [secretOf(75), /at most 64 bytes/],
  [secretOf(76), /at most 64 bytes/],
  [secretOf(81), /at most 64 bytes/],
  [secretOf(25).replace(/=+$/, ''), /padded/],
  [secretOf(26).replace(/=+$/, ''), /padded/],
  [secretOf(24).replaceAll('+', '-').replaceAll('/', '_'), /URL-safe/],
  [`${secretOf(24)}\n`, /white space/],
  ['whsec_C2FVsBQIhrscChlQ IMV+b5sSYspob7oD', /white space/],
  [`whsec_${'A'.repeat(34)}==`.replace('A==', 'B=='), /unused bits/],
])('a secret that breaks a rule is refused with the rule: %j', (text, rule) => {
  const parsed = parseSecret(text)
  expect(parsed.key).toBeNull()
  expect(parsed.reason).toMatch(rule)
  // The rule may be answered and logged; what was sent may be a real key.
  if (text.length > 10) expect(parsed.reason).not.toContain(text.slice(7))
})

test('a secret of a megabyte is refused before it is read', () => {
  expect(parseSecret(`whsec_${'A'.repeat(1_000_000)}`).reason).toMatch(/at most 64 bytes/)
})
