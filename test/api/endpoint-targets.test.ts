import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  forbiddenHosts,
  forbiddenIPv4,
  forbiddenIPv6,
  forbiddenUrls,
  publicIPv4,
  publicIPv6,
  publicUrls,
} from '../support/targets.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest({ env: { POSTHORN_ALLOWED_TARGETS: '' } })
})
afterAll(() => api.stop())

const endpoints = '/v1/tenants/acme/endpoints'
const urlsOf = (v4: readonly string[], v6: readonly string[]): string[] => [
  ...v4.map((address) => `http://${address}/`),
  ...v6.map((address) => `https://[${address}]/`),
]
const forbidden = [
  ...urlsOf(forbiddenIPv4, forbiddenIPv6),
  ...forbiddenHosts.map((host) => `https://${host}/`),
  ...forbiddenUrls,
]

test('no endpoint is registered at a forbidden address, spelling or URL', async () => {
  const answers: string[] = []
  for (const url of forbidden) {
    const { status, body } = await api.call('POST', endpoints, { json: { url } })
    if (status !== 422 || body.errors?.[0]?.path !== '/url') answers.push(`${JSON.stringify(url)}: ${status}`)
  }
  expect(answers).toEqual([])
  expect((await api.call('GET', endpoints)).body.data ?? []).toEqual([])
})

test('no endpoint is changed to one, and it keeps what it has', async () => {
  const url = 'https://example.com/'
  const { body: made } = await api.call('POST', '/v1/tenants/changed/endpoints', { json: { url } })
  const answers: string[] = []
  for (const url of forbidden) {
    const { status, body } = await api.call('PATCH', `/v1/tenants/changed/endpoints/${made.id}`, { json: { url } })
    if (status !== 422 || body.errors?.[0]?.path !== '/url') answers.push(`${JSON.stringify(url)}: ${status}`)
  }
  expect(answers).toEqual([])
  expect((await api.call('GET', `/v1/tenants/changed/endpoints/${made.id}`)).body).toMatchObject({ url })
})

test('public addresses and URLs are taken', async () => {
  for (const url of [...urlsOf(publicIPv4, publicIPv6), ...publicUrls]) {
    const { status } = await api.call('POST', '/v1/tenants/public/endpoints', { json: { url } })
    expect(`${url} ${status}`).toBe(`${url} 201`)
  }
})

test('a refusal says why, and repeats no credentials', async () => {
  const refusal = async (url: string) => (await api.call('POST', endpoints, { json: { url } })).text
  expect(await refusal('http://10.0.0.1/')).toContain('10.0.0.1 is not a public address (private)')
  expect(await refusal('http://metadata.google.internal/')).toContain('(cloud metadata)')
  expect(await refusal('https://me:hunter2@h.test/hunter2')).not.toContain('hunter2')
})
