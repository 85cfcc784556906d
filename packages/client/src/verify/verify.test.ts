import { generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { createVerifier, verify } from './verify.ts'
import { WebhookError } from './webhook-error.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
const seconds = 1_614_265_330
const body = '{"test": 2432232314}'
const v1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
const publicKey = 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='
const v1a = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=='
const then = { now: new Date(seconds * 1000) }
const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': v1 }
const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(WebhookError)
  return (error as WebhookError).code
}

describe('the published vectors', () => {
  test.each([
    ['v1', secret, id, seconds, body, v1],
    [
      'v1',
      other,
      'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
      1_649_367_553,
      '{"email":"test@example.com","username":"test_user"}',
      'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
    ],
    ['v1a', publicKey, id, seconds, body, v1a],
  ])('%s of %s is verified', async (_, key, messageId, at, text, signature) => {
    const sent = { 'webhook-id': messageId, 'webhook-timestamp': String(at), 'webhook-signature': signature }
    const webhook = await verify(key, sent, text, { now: new Date(at * 1000) })
    expect(webhook).toMatchObject({ id: messageId, type: null, timestamp: new Date(at * 1000) })
    expect(webhook.text()).toBe(text)
    expect(webhook.json()).toEqual(JSON.parse(text))
  })

  test('what the official library signs is verified, in each form that a body and headers come in', async () => {
    const now = new Date()
    const text = '{"a": 1.00, "é": "😊"} \n'
    const sent = {
      'Webhook-Id': 'evt_1',
      'WEBHOOK-TIMESTAMP': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(other).sign('evt_1', now, text),
      'posthorn-event-type': 'invoice.paid',
    }
    const bytes = new TextEncoder().encode(text)
    for (const raw of [text, bytes, bytes.buffer, Buffer.from(`..${text}`).subarray(2)]) {
      expect((await verify([secret, other], sent, raw)).type).toBe('invoice.paid')
      expect((await verify(other.slice(6), new Headers(sent), raw)).body).toEqual(bytes)
    }
  })

  test('a key pair of our own, beside v1 in one header', async () => {
    const pair = generateKeyPairSync('ed25519')
    const raw = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    const signature = signBytes(null, Buffer.from(`${id}.${seconds}.${body}`), pair.privateKey).toString('base64')
    const sent = { ...headers, 'webhook-signature': `${v1} v1a,${signature}` }
    const key = `whpk_${raw.toString('base64')}`
    for (const secrets of [key, secret, [key, secret], [publicKey, key], [other, key]]) {
      expect((await verify(secrets, sent, body, then)).id).toBe(id)
    }
    expect(await codeOf(verify(publicKey, sent, body, then))).toBe('no_match')
  })
})

describe('refused, each with an error of its own', () => {
  test.each<[string, object, string, RegExp]>([
    ['no id', { 'webhook-id': undefined }, 'missing_header', /No webhook-id: this is no webhook of Posthorn/],
    [
      'nothing of ours',
      { 'webhook-id': '', 'webhook-timestamp': '', 'webhook-signature': '' },
      'missing_header',
      /No webhook-id, webhook-timestamp, webhook-signature/,
    ],
    ['a header twice', { 'webhook-id': [id, id] }, 'missing_header', /more than once/],
    ['a header twice in two cases', { 'Webhook-Id': id }, 'missing_header', /more than once/],
    ['a time that is none', { 'webhook-timestamp': '1614265330x' }, 'bad_timestamp', /whole seconds/],
    ['a negative time', { 'webhook-timestamp': '-5' }, 'bad_timestamp', /whole seconds/],
    ['another time', { 'webhook-timestamp': String(seconds + 1) }, 'no_match', /raw body/],
    ['another id', { 'webhook-id': 'msg_x' }, 'no_match', /raw body/],
    ['no signature in it', { 'webhook-signature': 'v1,' }, 'no_match', /raw body/],
    ['the beginning of one', { 'webhook-signature': v1.slice(0, 11) }, 'no_match', /raw body/],
    ['letters that are no base64', { 'webhook-signature': `${v1.slice(0, -1)}é` }, 'no_match', /raw body/],
    ['only v1a for a v1 secret', { 'webhook-signature': v1a }, 'no_common_version', /v1a with a whpk_ key/],
    ['another version', { 'webhook-signature': v1.replace('v1', 'v2') }, 'no_common_version', /No signature of v1/],
    ['no version', { 'webhook-signature': v1.slice(3) }, 'no_common_version', /No signature of v1/],
  ])('%s', async (_, changed, code, message) => {
    const error = await verify(secret, { ...headers, ...changed }, body, then).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
  })

  test('a tampered body, one byte more or other', async () => {
    for (const text of ['{"test": 2432232315}', `${body}\n`, '{"test":2432232314}', '']) {
      expect(await codeOf(verify(secret, headers, text, then))).toBe('no_match')
    }
  })

  test.each([
    [300, null],
    [-300, null],
    [301, 'too_old'],
    [-301, 'too_new'],
    [3_600, 'too_old'],
    [-3_600, 'too_new'],
  ])('a clock that is %d s off', async (offSeconds, code) => {
    const now = new Date((seconds + offSeconds) * 1000 + 999)
    const checked = verify(secret, headers, body, { now })
    if (code === null) return void (await checked)
    const error = await checked.catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code, message: expect.stringMatching(`${Math.abs(offSeconds)} s .*set the clock`) })
  })

  test.each([
    ['an object', { test: 1 }],
    ['null', null],
    ['undefined', undefined],
  ])('a body that is already parsed: %s', async (_, parsed) => {
    const error = await verify(secret, headers, parsed as never, then).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'body_already_parsed', status: 500 })
  })

  test.each([
    ['nothing', [], /No secret was given/],
    ['an empty one', '', /is the setting that holds it set/],
    ['undefined', [undefined as never], /is the setting that holds it set/],
    ['a line break', `${secret}\n`, /white space/],
    ['the private key', 'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723', /take the public one/],
    ['a public key cut off', 'whpk_1SiA4o9hyqTCpIqC5V9H', /32 bytes, not/],
    ['a secret cut off', 'whsec_MfKQ9r8GKYqrTw==', /24 or more/],
    ['no base64', 'whsec_%%%', /standard base64/],
  ])('a secret that is none: %s', async (_, secrets, message) => {
    const error = (await verify(secrets, headers, body, then).catch((reason: unknown) => reason)) as WebhookError
    expect(error).toMatchObject({ code: 'bad_secret', status: 500, message: expect.stringMatching(message) })
    for (const each of [secrets].flat())
      if (each?.length > 12) expect(error.message).not.toContain(each.trim().slice(6))
    expect('getResponse' in error).toBe(false)
  })
})

test('the good one of many signatures is found, and a header of thousands is not worked through', async () => {
  const bad = 'v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc='
  const list = (n: number) => `${`${bad} `.repeat(n)}v2,x  , ${v1} v1,x nothing`
  await verify(secret, { ...headers, 'webhook-signature': list(3) }, body, then)
  expect(await codeOf(verify(secret, { ...headers, 'webhook-signature': list(5_000) }, body, then))).toBe('no_match')
})

test('a verifier reads its secrets once, and an error of theirs comes with each webhook', async () => {
  const verifier = createVerifier([secret], then)
  await Promise.all(Array.from({ length: 5 }, () => verifier(headers, body)))
  const broken = createVerifier(['whsec_%'], then)
  expect(await codeOf(broken(headers, body))).toBe('bad_secret')
  expect(await codeOf(broken(headers, body))).toBe('bad_secret')
})
