import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

/*
 * docs/filters.md: each filter there is registered, and each payload in the table below it is published, and does what its row says.
 */

const page = await readFile(new URL('../../docs/filters.md', import.meta.url), 'utf8')

const examples = [
  ...page.matchAll(/```json\n([\s\S]*?)```\n\n\| payload +\| met \|\n\|[- |]+\|\n((?:\|.*\|\n)+)/g),
].map(([, filter = '', table = '']) => ({
  filter: filter.trim(),
  rows: [...table.matchAll(/^\| `(.*)` +\| (yes|no) +\|$/gm)].map(([, payload = '', met = '']) => ({ payload, met })),
}))

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const raw = (path: string, text: string) =>
  api.call('POST', path, { raw: text, headers: { 'content-type': 'application/json' } })

test('every filter of the page has payloads, and every operator a filter', () => {
  expect(examples).toHaveLength(page.match(/^```json$/gm)!.length)
  for (const { rows } of examples) expect(new Set(rows.map(({ met }) => met)).size).toBe(2)
  for (const name of ['equals', 'in', 'exists', 'gt', 'gte', 'lt', 'prefix', 'and', 'or', 'not']) {
    expect(examples.filter(({ filter }) => filter.includes(`"${name}":`))).not.toEqual([])
  }
})

test.each(examples)('$filter', async ({ filter, rows }) => {
  const tenant = `/v1/tenants/docs-${examples.findIndex((each) => each.filter === filter)}`
  const made = await raw(`${tenant}/endpoints`, `{"url":"https://example.com/","filter":${filter}}`)
  expect(made.status).toBe(201)
  for (const { payload, met } of rows) {
    const event = `{"type":"a.b","payload":${payload}}`
    const { body } = await raw(`${tenant}/endpoints/${made.body.id}/matches`, event)
    expect(body.data[0].matches, payload).toBe(met === 'yes')
    expect((await raw(`${tenant}/events`, event)).body.deliveries, payload).toBe(met === 'yes' ? 1 : 0)
  }
})

test('the answer that the page shows is the one that is given', async () => {
  const input = /-d '(\{"uid":[\s\S]*?)'\n/.exec(page)![1]!
  const asked = /matches -d '(.*)'\n/.exec(page)![1]!
  const shown = JSON.parse(/```\n(\{"data":[\s\S]*?)```/.exec(page)![1]!)
  const made = await raw('/v1/tenants/shown/endpoints', input)
  expect(made.status).toBe(201)
  expect((await raw(`/v1/tenants/shown/endpoints/${made.body.id}/matches`, asked)).body).toEqual(shown)
})
