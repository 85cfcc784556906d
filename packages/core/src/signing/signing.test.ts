import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { generateSigningKey, parseSigningKey } from './ed25519.ts'
import { generateSecret } from './secret.ts'
import { createSigner } from './signer.ts'
import { type VerifyOptions, verify } from './verify.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const timestamp = 1_614_265_330
const body = Buffer.from('{"test": 2432232314}')
const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
const privateKey = 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=='
const publicKey = 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='
const signatureA = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=='
const then: VerifyOptions = { now: new Date(timestamp * 1000) }
const headers = {
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': signature,
}

// Bodies as bytes: text of any script, lone parts of it, and bytes that are no text at all.
const anyBody = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => Buffer.from(text.toWellFormed())),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .constantFrom('', '{"t":"😊 日本語 é e\u0301 \\ud83d\\ude0a"}', ' \r\n{"a" : 1.0}\n')
    .map((text) => Buffer.from(text)),
)

describe('signer', () => {
  test.each([
    [secret, id, timestamp, '{"test": 2432232314}', signature],
    [
      'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
      'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
      1_649_367_553,
      '{"email":"test@example.com","username":"test_user"}',
      'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
    ],
  ])('signs the published vector of %s', (key, messageId, seconds, text, expected) => {
    expect(createSigner([key]).sign(messageId, seconds, Buffer.from(text))).toBe(expected)
  })

  test('signs the published vector of v1a', () => {
    expect(createSigner([privateKey]).sign(id, timestamp, body)).toBe(signatureA)
    expect(parseSigningKey(privateKey).publicKey).toBe(publicKey)
  })

  test('v1 stands before v1a, whatever the order of the secrets, one space between', () => {
    const [other, pair] = [generateSecret(), generateSigningKey()]
    const signed = createSigner([pair.secret, secret, privateKey, other]).sign(id, timestamp, body)
    const items = signed.split(' ')
    expect(items.map((item) => item.split(',')[0])).toEqual(['v1', 'v1', 'v1a', 'v1a'])
    expect([items[0], items[3]]).toEqual([signature, signatureA])
    for (const key of [other, secret]) {
      const sent = { ...headers, 'webhook-signature': signed }
      expect(() => new Webhook(key).verify(body, { ...sent, 'webhook-timestamp': '0' })).toThrow(/too old/)
      expect(verify([key], sent, body, then).verified).toBe(true)
    }
  })

  test('every live secret signs, one space between', () => {
    const secrets = [generateSecret(), secret, generateSecret()]
    const signed = createSigner(secrets).sign(id, timestamp, body)
    expect(signed).toMatch(/^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=){2}$/)
    expect(signed.split(' ')[1]).toBe(signature)
  })

  test('the official library verifies what we sign', () => {
    const key = generateSecret()
    fc.assert(
      fc.property(anyBody, (bytes) => {
        const seconds = Math.floor(Date.now() / 1000)
        const sent = {
          'webhook-id': 'evt_01h455vb4pex5vsknk084sn02q',
          'webhook-timestamp': String(seconds),
          'webhook-signature': createSigner([generateSecret(), key]).sign(
            'evt_01h455vb4pex5vsknk084sn02q',
            seconds,
            bytes,
          ),
        }
        expect(() => new Webhook(key).verify(bytes, sent, { jsonParse: false })).not.toThrow()
      }),
    )
  })

  test.each([
    ['a full stop in the id', 'evt.1', timestamp],
    ['milliseconds with a fraction', id, 1.5],
    ['no number', id, Number.NaN],
  ])('throws for %s', (_, badId, seconds) => {
    expect(() => createSigner([secret]).sign(badId, seconds, body)).toThrow(TypeError)
  })

  test('throws for no secret, and for one that is none', () => {
    expect(() => createSigner([])).toThrow(TypeError)
    expect(() => createSigner([secret, 'whsec_%'])).toThrow(TypeError)
    expect(() => createSigner([secret, 'whsk_%'])).toThrow(TypeError)
  })
})

describe('verify', () => {
  test('verifies what the official library signs', () => {
    const key = generateSecret()
    fc.assert(
      fc.property(anyBody, (bytes) => {
        const now = new Date()
        const sent = {
          'Webhook-Id': id,
          'WEBHOOK-TIMESTAMP': String(Math.floor(now.getTime() / 1000)),
          'webhook-signature': new Webhook(key).sign(id, now, bytes),
        }
        expect(verify([key], sent, bytes, { now })).toMatchObject({ verified: true, id })
        expect(verify([key], new Headers(sent), bytes, { now }).verified).toBe(true)
      }),
    )
  })

  test('takes an old and a new secret, with and without the prefix', () => {
    expect(verify([generateSecret(), secret], headers, body, then)).toEqual({
      verified: true,
      id,
      timestampSeconds: timestamp,
    })
    expect(verify([secret.slice(6)], headers, body, then).verified).toBe(true)
  })

  test('v1a by its public key, among other items', () => {
    const sent = { ...headers, 'webhook-signature': `${signature} v1a,AAAA ${signatureA}` }
    expect(verify([publicKey], sent, body, then).verified).toBe(true)
    expect(verify([generateSigningKey().publicKey, publicKey], sent, body, then).verified).toBe(true)
    expect(verify([generateSigningKey().publicKey], sent, body, then).verified).toBe(false)
    expect(verify([publicKey], sent, Buffer.from('{"test": 2432232315}'), then).verified).toBe(false)
    expect(verify([publicKey], { ...sent, 'webhook-timestamp': '1614265331' }, body, then).verified).toBe(false)
    // A signature of one version is none of the other.
    expect(
      verify([publicKey], { ...headers, 'webhook-signature': signatureA.replace('v1a', 'v1') }, body, then),
    ).toEqual({
      verified: false,
      reason: 'no_match',
    })
    expect(() => verify(['whpk_AAAA'], sent, body, then)).toThrow(TypeError)
  })

  test('finds the good item of a list', () => {
    const list = `v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,${signature.slice(3)}  ${signature} v1,x nothing`
    expect(verify([secret], { ...headers, 'webhook-signature': list }, body, then).verified).toBe(true)
  })

  test.each([
    ['a missing id', { 'webhook-id': undefined }, 'missing_header'],
    ['an empty id', { 'webhook-id': '' }, 'missing_header'],
    ['a missing timestamp', { 'webhook-timestamp': undefined }, 'missing_header'],
    ['a missing signature', { 'webhook-signature': undefined }, 'missing_header'],
    ['a header sent twice', { 'webhook-id': [id, id] }, 'missing_header'],
    ['a header sent twice in two cases', { 'Webhook-Id': id }, 'missing_header'],
    ['a timestamp that is no number', { 'webhook-timestamp': 'hello' }, 'bad_timestamp'],
    ['a timestamp with more behind it', { 'webhook-timestamp': `${timestamp}x` }, 'bad_timestamp'],
    ['a negative timestamp', { 'webhook-timestamp': '-5' }, 'bad_timestamp'],
    ['a timestamp of another attempt', { 'webhook-timestamp': String(timestamp + 1) }, 'no_match'],
    ['another id', { 'webhook-id': 'msg_x' }, 'no_match'],
    ['v1 alone', { 'webhook-signature': 'v1,' }, 'no_match'],
    ['the first eight characters', { 'webhook-signature': signature.slice(0, 11) }, 'no_match'],
    ['another version', { 'webhook-signature': signature.replace('v1', 'v2') }, 'no_match'],
    ['no version', { 'webhook-signature': signature.slice(3) }, 'no_match'],
    ['an asymmetric signature', { 'webhook-signature': `v1a,${signature.slice(3)}` }, 'no_match'],
    ['text of the same length in more bytes', { 'webhook-signature': `${signature.slice(0, -1)}é` }, 'no_match'],
  ])('refuses %s', (_, changed, reason) => {
    expect(verify([secret], { ...headers, ...changed }, body, then)).toEqual({ verified: false, reason })
  })

  test('refuses one byte more or other, and another secret', () => {
    expect(verify([secret], headers, Buffer.from('{"test": 2432232314}\n'), then).verified).toBe(false)
    expect(verify([secret], headers, Buffer.from('{"test":2432232314}'), then).verified).toBe(false)
    expect(verify([generateSecret()], headers, body, then).verified).toBe(false)
  })

  test.each([
    [300, undefined, true],
    [-300, undefined, true],
    [301, 'too_old', false],
    [-301, 'too_new', false],
  ])('allows 300 seconds either way: %d', (age, reason, verified) => {
    const result = verify([secret], headers, body, { now: new Date((timestamp + age) * 1000 + 999) })
    expect(result.verified).toBe(verified)
    if (!result.verified) expect(result.reason).toBe(reason)
  })
})
