import { createLog } from '@posthorn/core'
import { createPool, type Pool, type PoolClient } from '@posthorn/core/db'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createGatherer } from '../../apps/api/src/publish/gatherer.ts'
import { eventually } from '../support/wait.ts'
import { type Answer, type ApiUnderTest, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
/** Holds the lock that events of type `block` wait for when they are inserted, and `commit.block` when they are committed. */
let blocker: PoolClient
let watcher: Pool

beforeAll(async () => {
  api = await startApiUnderTest()
  watcher = createPool({ connectionString: api.database.url, max: 2, applicationName: 'watch', onError: () => {} })
  await api.call('POST', '/v1/tenants/acme/endpoints', { json: { url: 'http://127.0.0.1:1/' } })
  await watcher.query(`
    create function public.misbehave() returns trigger language plpgsql as $$
    begin
      if new.type = 'block' then perform pg_advisory_xact_lock_shared(42); end if;
      if new.type = 'poison' then raise exception 'poison'; end if;
      return new;
    end $$;
    create trigger misbehave before insert on posthorn.event for each row execute function public.misbehave();
    create function public.at_commit() returns trigger language plpgsql as $$
    declare t text := (select type from posthorn.event where id = new.event_id);
    begin
      if t = 'commit.block' then perform pg_advisory_xact_lock_shared(42); end if;
      if t = 'commit.fail' then raise exception 'not committed'; end if;
      return null;
    end $$;
    create constraint trigger at_commit after insert on posthorn.delivery deferrable initially deferred
      for each row execute function public.at_commit();`)
  blocker = await watcher.connect()
})
afterAll(async () => {
  blocker.release()
  await watcher.end()
  await api.stop()
})
beforeEach(async () => {
  await blocker.query('select pg_advisory_unlock_all()')
})

const path = '/v1/tenants/acme/events'
const publish = (type: string, key?: string): Promise<Answer> =>
  api.call('POST', path, { json: { type, payload: {} }, headers: key === undefined ? {} : { 'idempotency-key': key } })

async function blocked(count: number): Promise<void> {
  await eventually(async () => {
    const { rows } = await watcher.query(
      `select count(*)::integer as n from pg_locks where locktype = 'advisory' and objid = 42 and not granted`,
    )
    return rows[0].n === count
  }, 10_000)
}

async function count(type: string): Promise<number> {
  const { rows } = await watcher.query('select count(*)::integer as n from posthorn.event where type = $1', [type])
  return rows[0].n
}

test.each([undefined, 'key'])('a bad publish gathered with good ones fails alone (key: %s)', async (key) => {
  await blocker.query('select pg_advisory_lock(42)')
  const flights = key === undefined ? 2 : 1
  const first: Promise<Answer>[] = []
  // A keyed one waits 100 ms at most, so its flight is held by the lock for that long only.
  while (first.length < flights) {
    first.push(publish('block', key && `${key}-block-${first.length}`))
    await blocked(first.length)
  }
  const type = `good${key ?? ''}`
  const gathered = Array.from({ length: 20 }, (_, n) => publish(n === 7 ? 'poison' : type, key && `${key}-${n}`))
  await blocker.query('select pg_advisory_unlock(42)')
  const answers = await Promise.all(gathered)
  expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 20 }, (_, n) => (n === 7 ? 500 : 202)))
  expect(answers[7]!.text).not.toContain('poison')
  expect((await Promise.all(first)).every((answer) => answer.status === 202)).toBe(true)
  expect(await count(type)).toBe(19)
  expect(await count('poison')).toBe(0)
})

test('nobody is answered before the commit, and what fails there is not accepted', async () => {
  await blocker.query('select pg_advisory_lock(42)')
  let answered = false
  const publishing = publish('commit.block').finally(() => {
    answered = true
  })
  await blocked(1)
  expect(await count('commit.block')).toBe(0)
  expect(answered).toBe(false)
  await blocker.query('select pg_advisory_unlock(42)')
  expect((await publishing).status).toBe(202)
  expect(await count('commit.block')).toBe(1)

  expect((await publish('commit.fail')).status).toBe(500)
  expect((await publish('commit.fail', 'k')).status).toBe(500)
  expect(await count('commit.fail')).toBe(0)
})

test('a caller who went away changes nothing for what it sent', async () => {
  await blocker.query('select pg_advisory_lock(42)')
  const controller = new AbortController()
  const gone = fetch(api.url + path, {
    method: 'POST',
    headers: { authorization: 'Bearer phk_operator-of-the-tests', 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'block', payload: { gone: true } }),
    signal: controller.signal,
  })
  await blocked(1)
  const before = await count('block')
  controller.abort()
  await expect(gone).rejects.toThrow()
  await blocker.query('select pg_advisory_unlock(42)')
  await eventually(async () => (await count('block')) === before + 1, 10_000)
})

test('past its bound the queue refuses at once, and a stop writes all that waits', async () => {
  const rung: string[] = []
  const pool = createPool({ connectionString: api.database.url, max: 5, applicationName: 'gather', onError: () => {} })
  const gatherer = createGatherer({
    pool,
    log: createLog('silent'),
    doorbell: { ring: (ids) => rung.push(...ids) },
    maxWaitingEvents: 5,
  })
  const event = (type: string) => ({
    type,
    payload: Buffer.from('1'),
    channels: null,
    orderingKey: null,
    deliverAt: null,
  })
  const one = (type: string) => gatherer.publish({ tenantId: 'acme', idempotencyKey: null, events: [event(type)] })
  await blocker.query('select pg_advisory_lock(42)')
  const waiting = [one('block')]
  await blocked(1)
  waiting.push(one('block'))
  await blocked(2)
  waiting.push(one('queued'), one('queued'), one('queued'))
  await expect(one('queued')).rejects.toMatchObject({ code: 'overloaded', headers: { 'retry-after': '1' } })
  const stopped = gatherer.stop()
  await expect(one('queued')).rejects.toMatchObject({ code: 'stopping' })
  await blocker.query('select pg_advisory_unlock(42)')
  await stopped
  expect(await Promise.all(waiting)).toHaveLength(5)
  expect(await count('queued')).toBe(3)
  expect(rung).toHaveLength(5)
  await pool.end()
})
