import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

type Secrets = { secrets: { secret: string; created_at: string; expires_at: string | null }[] }

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
  expect(newer).toEqual({ secret: expect.stringMatching(/^whsec_/), created_at: expect.any(String), expires_at: null })
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
])('refuses the rotation %j', async (json, path) => {
  const { at, secret } = await make(`r${Math.random()}`)
  const refused = await api.call('POST', `${at}/rotate`, { json })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ path }] } })
  expect((await api.call<Secrets>('GET', at)).body.secrets).toMatchObject([{ secret }])
})
