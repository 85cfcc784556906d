import { generateSecret, generateSigningKey } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

type Secret = {
  signature: string
  secret: string | null
  public_key: string | null
  created_at: string
  expires_at: string | null
}
type Secrets = { secrets: Secret[] }

async function make(uid: string): Promise<{ at: string; secret: string }> {
  const json = { url: 'https://example.com/', uid }
  const { body } = await api.call('POST', '/v1/tenants/acme/endpoints', { json })
  return { at: `/v1/tenants/acme/endpoints/${uid}/secret`, secret: body.secret }
}

test('after a rotation the old and the new one sign, for a day', async () => {
  const { at, secret } = await make('default')
  const rotated = await api.call<Secrets>('POST', `${at}/rotate`)
  expect(rotated.status).toBe(200)
  const [newer, older] = rotated.body.secrets
  expect(newer).toEqual({
    signature: 'v1',
    secret: expect.stringMatching(/^whsec_/),
    public_key: null,
    created_at: expect.any(String),
    expires_at: null,
  })
  expect(older?.secret).toBe(secret)
  const graceMs = Date.parse(older?.expires_at ?? '') - Date.now()
  expect(graceMs).toBeGreaterThan(86_340_000)
  expect(graceMs).toBeLessThanOrEqual(86_400_000)
  expect((await api.call('GET', at)).body).toEqual(rotated.body)
  const { rows } = await api.pool.query(
    `select e.version, l.version as lane from posthorn.endpoint e join posthorn.lane l on l.endpoint_id = e.id where uid = 'default'`,
  )
  expect(rows).toEqual([{ version: 2, lane: 2 }])
})

test('without grace the old one goes at once, and earlier ones too', async () => {
  const { at } = await make('at-once')
  await api.call('POST', `${at}/rotate`, { json: {} })
  const secret = `whsec_${Buffer.alloc(24, 9).toString('base64')}`
  const rotated = await api.call<Secrets>('POST', `${at}/rotate`, { json: { secret, grace_seconds: 0 } })
  expect(rotated.body.secrets.map((row) => row.secret)).toEqual([secret])
})

test('a rotation does not prolong what was to end earlier', async () => {
  const { at, secret } = await make('earlier')
  const first = await api.call<Secrets>('POST', `${at}/rotate`, { json: { grace_seconds: 60 } })
  const second = await api.call<Secrets>('POST', `${at}/rotate`, { json: { grace_seconds: 604800 } })
  expect(second.body.secrets).toHaveLength(3)
  const ends = (answer: typeof first) => answer.body.secrets.find((row) => row.secret === secret)?.expires_at
  expect(ends(second)).toBe(ends(first))
})

test('a secret that signs already is refused, and so is an eleventh', async () => {
  const { at, secret } = await make('many')
  const again = await api.call('POST', `${at}/rotate`, { json: { secret } })
  expect(again).toMatchObject({ status: 422, body: { errors: [{ path: '/secret' }] } })
  for (let i = 0; i < 9; i++) expect((await api.call('POST', `${at}/rotate`)).status).toBe(200)
  expect(await api.call('POST', `${at}/rotate`)).toMatchObject({ status: 409, body: { code: 'too_many_secrets' } })
  expect((await api.call('GET', at)).body.secrets).toHaveLength(10)
})

test.each([
  [{ grace_seconds: -1 }, '/grace_seconds'],
  [{ grace_seconds: 604801 }, '/grace_seconds'],
  [{ grace_seconds: 1.5 }, '/grace_seconds'],
  [{ grace_seconds: '60' }, '/grace_seconds'],
  [{ secret: 'whsec_short' }, '/secret'],
  [{ secret: 'whsec_' }, '/secret'],
  [{ secret: 7 }, '/secret'],
  [{ grace: 1 }, '/grace'],
  [{ signature: 'v2' }, '/signature'],
  [{ secret: 'whsk_AAAA' }, '/secret'],
  [{ signature: 'v1', secret: generateSigningKey().secret }, '/secret'],
])('refuses the rotation %j', async (json, path) => {
  const { at, secret } = await make(`r${Math.random()}`)
  const refused = await api.call('POST', `${at}/rotate`, { json })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path }] } })
  expect((await api.call<Secrets>('GET', at)).body.secrets).toMatchObject([{ secret }])
})

describe('v1a', () => {
  const endpoints = '/v1/tenants/acme/endpoints'
  const register = (json: object) => api.call('POST', endpoints, { json: { url: 'https://example.com/', ...json } })
  const shown = async (id: string) => (await api.call<Secrets>('GET', `${endpoints}/${id}/secret`)).body.secrets
  const versions = async (id: string) => (await shown(id)).map((row) => row.signature).sort()

  test('is asked for: nobody has it by default', async () => {
    const { body } = await register({})
    expect(body).toMatchObject({ signatures: ['v1'], secret: expect.stringMatching(/^whsec_/), public_key: null })
    expect(await versions(body.id)).toEqual(['v1'])
  })

  test('beside v1 it has a key of its own, whose public half alone is shown', async () => {
    const made = await register({ signatures: ['v1', 'v1a'] })
    expect(made.body).toMatchObject({ signatures: ['v1', 'v1a'], secret: expect.stringMatching(/^whsec_/) })
    expect(made.body.public_key).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/)
    const rows = await shown(made.body.id)
    const [key] = rows.filter((row) => row.signature === 'v1a')
    expect(key).toMatchObject({ secret: null, public_key: made.body.public_key, expires_at: null })
    expect(JSON.stringify([made.body, rows])).not.toContain('whsk_')
    expect((await api.call('GET', `${endpoints}/${made.body.id}`)).body.signatures).toEqual(['v1', 'v1a'])
  })

  test('a key of one’s own is taken, and not shown again', async () => {
    const pair = generateSigningKey()
    const made = await register({ secret: pair.secret })
    expect(made.body).toMatchObject({ signatures: ['v1a'], secret: null, public_key: pair.publicKey })
    const both = await register({ secret: pair.secret, signatures: ['v1', 'v1a'] })
    expect(both.body).toMatchObject({ public_key: pair.publicKey, secret: expect.stringMatching(/^whsec_/) })
    const { rows } = await api.pool.query<{ sealed: Buffer; public_key: string }>(
      'select sealed, public_key from posthorn.endpoint_secret where public_key = $1',
      [pair.publicKey],
    )
    expect(rows.map((row) => api.vault.open(row.sealed))).toEqual([pair.secret, pair.secret])
  })

  test.each([
    [{ signatures: [] }, '/signatures'],
    [{ signatures: ['v2'] }, '/signatures/0'],
    [{ signatures: ['v1', 'v1'] }, '/signatures'],
    [{ signatures: 'v1a' }, '/signatures'],
    [{ signatures: ['v1'], secret: generateSigningKey().secret }, '/secret'],
    [{ signatures: ['v1a'], secret: generateSecret() }, '/secret'],
    [{ secret: generateSigningKey().publicKey }, '/secret'],
    [{ secret: generateSigningKey().secret.slice(0, -4) }, '/secret'],
  ])('a registration with %j is refused', async (json, path) => {
    const refused = await register(json)
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path }] } })
    const { secret } = json as { secret?: string }
    if (secret !== undefined) expect(refused.text).not.toContain(secret.slice(6))
  })

  test('is added and taken away by a change, with the secrets of each', async () => {
    const { id, secret } = (await register({})).body
    const patch = (signatures: unknown) => api.call('PATCH', `${endpoints}/${id}`, { json: { signatures } })
    expect((await patch(['v1', 'v1a'])).body.signatures).toEqual(['v1', 'v1a'])
    expect(await versions(id)).toEqual(['v1', 'v1a'])
    const before = await shown(id)
    expect((await patch(['v1a', 'v1'])).status).toBe(200)
    expect(await shown(id)).toEqual(before)
    expect((await patch(['v1a'])).body.signatures).toEqual(['v1a'])
    expect(await versions(id)).toEqual(['v1a'])
    expect((await patch(null)).body.signatures).toEqual(['v1'])
    const [now] = await shown(id)
    expect(now?.secret).toMatch(/^whsec_/)
    expect(now?.secret).not.toBe(secret)
    expect(await patch([])).toMatchObject({ status: 422, body: { errors: [{ path: '/signatures' }] } })
    expect(await versions(id)).toEqual(['v1'])
  })

  test('each version is rotated by itself', async () => {
    const { id, secret, public_key: firstKey } = (await register({ signatures: ['v1', 'v1a'] })).body
    const rotate = (json: object) => api.call<Secrets>('POST', `${endpoints}/${id}/secret/rotate`, { json })
    const pair = generateSigningKey()
    const first = await rotate({ secret: pair.secret })
    expect(first.body.secrets.map((row) => [row.secret ?? row.public_key, row.expires_at !== null])).toEqual(
      expect.arrayContaining([
        [pair.publicKey, false],
        [firstKey, true],
        [secret, false],
      ]),
    )
    expect(await rotate({ secret: pair.secret })).toMatchObject({
      status: 422,
      body: { errors: [{ path: '/secret' }] },
    })
    const second = await rotate({ signature: 'v1a', grace_seconds: 0 })
    expect(second.body.secrets.filter((row) => row.signature === 'v1a')).toHaveLength(1)
    expect(second.body.secrets.filter((row) => row.secret === secret)).toHaveLength(1)
    // v1 is what is meant where nothing says otherwise.
    const third = await rotate({ grace_seconds: 0 })
    expect(third.body.secrets.map((row) => row.signature).sort()).toEqual(['v1', 'v1a'])
    expect(third.body.secrets.some((row) => row.secret === secret)).toBe(false)
    for (let i = 0; i < 8; i++) expect((await rotate({ signature: i % 2 ? 'v1' : 'v1a' })).status).toBe(200)
    expect(await rotate({ signature: 'v1a' })).toMatchObject({ status: 409, body: { code: 'too_many_secrets' } })
  })

  test('with v1a alone it is what a rotation means, and v1 is not there', async () => {
    const { id, public_key: key } = (await register({ signatures: ['v1a'] })).body
    const rotate = (json: object) => api.call<Secrets>('POST', `${endpoints}/${id}/secret/rotate`, { json })
    const { secrets } = (await rotate({})).body
    expect(secrets.map((row) => row.signature)).toEqual(['v1a', 'v1a'])
    expect(secrets[1]?.public_key).toBe(key)
    for (const json of [{ signature: 'v1' }, { secret: generateSecret() }]) {
      expect(await rotate(json)).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    }
  })
})
