import { randomUUID } from 'node:crypto'
import { readFilter } from '@posthorn/core'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filterText, payloadText } from '../support/filter-arbitrary.ts'
import { meets } from '../support/filter-model.ts'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

/*
 * One event, published over HTTP and by posthorn.publish in a product's own transaction: owed to the same endpoints, which are
 * those that `matches` names, and that the documents say.
 */

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest({ env: { POSTHORN_REQUESTS_PER_SECOND: '0' } })
})
afterAll(() => api.stop())

const raw = (path: string, text: string) =>
  api.call('POST', path, { raw: text, headers: { 'content-type': 'application/json' } })

/** Of each event, in order: the endpoints that it is owed to. */
async function owed(tenant: string, events: readonly string[]): Promise<string[][]> {
  const answers = events.map(async (id) => {
    const { body } = await api.call('GET', `${tenant}/events/${id}/deliveries?limit=200`)
    return body.data.map((each: { endpoint_id: string }) => each.endpoint_id).sort()
  })
  return Promise.all(answers)
}

test('HTTP, SQL and `matches` decide alike, whatever the filter and the payload', { timeout: 120_000 }, async () => {
  const filters = fc.array(filterText, { minLength: 1, maxLength: 6 })
  const payloads = fc.array(payloadText, { minLength: 1, maxLength: 6 })
  const property = fc.asyncProperty(filters, payloads, async (filters, payloads) => {
    const name = `t-${randomUUID()}`
    const tenant = `/v1/tenants/${name}`
    const registered: { id: string; filter: string }[] = []
    for (const filter of filters) {
      const made = await raw(`${tenant}/endpoints`, `{"url":"https://example.com/","filter":${filter}}`)
      expect(made.status, filter).toBe('faults' in readFilter(filter) ? 422 : 201)
      if (made.status === 201) registered.push({ id: made.body.id, filter })
    }
    const expected = payloads.map((payload) =>
      registered
        .filter(({ filter }) => {
          const read = readFilter(filter)
          return !('faults' in read) && meets(read.filter, payload)
        })
        .map(({ id }) => id)
        .sort(),
    )

    const events = payloads.map((payload) => `{"type":"a.b","payload":${payload}}`)
    const batch = await raw(`${tenant}/events/batch`, `{"events":[${events.join()}]}`)
    expect(batch.status).toBe(202)
    const overHttp = batch.body.data.map((each: { id: string }) => each.id)
    expect(await owed(tenant, overHttp)).toEqual(expected)
    expect(batch.body.data.map((each: { deliveries: number }) => each.deliveries)).toEqual(
      expected.map((to) => to.length),
    )

    const inSql: string[] = []
    for (const payload of payloads) {
      const { rows } = await api.pool.query<{ id: string }>(`select posthorn.publish($1, 'a.b', $2) as id`, [
        name,
        payload,
      ])
      inSql.push(rows[0]!.id)
    }
    expect(await owed(tenant, inSql)).toEqual(expected)

    for (const [place, event] of events.entries()) {
      const answers = registered.map(async ({ id }) => {
        const { body } = await raw(`${tenant}/endpoints/${id}/matches`, event)
        return body.data[0].matches ? [id] : []
      })
      expect((await Promise.all(answers)).flat().sort()).toEqual(expected[place])
    }
  })
  await fc.assert(property, { numRuns: 30 })
})
