import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

test('a healthy API is alive and ready, for anyone', async () => {
  expect(await api.call('GET', '/healthz', { token: null })).toMatchObject({ status: 200, body: { status: 'ok' } })
  const ready = await api.call('GET', '/readyz', { token: null })
  expect(ready).toMatchObject({ status: 200, body: { status: 'ready', reasons: [] } })
})

test('without tomorrow’s partition it is not ready', async () => {
  const name = `event_${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}`
  await api.pool.query(`drop table posthorn_partitions.${name}`)
  const answer = await api.call('GET', '/readyz', { token: null })
  expect(answer).toMatchObject({
    status: 503,
    body: { status: 'not_ready', reasons: [`partition ${name} is missing`], oldest_due_at: null },
  })
  expect(answer.headers.get('retry-after')).toBe('2')
  await api.pool.query('select posthorn.make_partitions()')
  expect((await api.call('GET', '/readyz')).status).toBe(200)
})

test('without a migration it is not ready', async () => {
  await api.pool.query(
    `update posthorn._prisma_migrations set finished_at = null where migration_name like '%_publish'`,
  )
  const answer = await api.call('GET', '/readyz')
  expect(answer.status).toBe(503)
  expect(answer.body.reasons).toEqual([expect.stringMatching(/^migration \d+_publish is not applied$/)])
  await api.pool.query('drop table posthorn._prisma_migrations')
  expect((await api.call('GET', '/readyz')).body.reasons).toEqual(['the database is not migrated'])
})
