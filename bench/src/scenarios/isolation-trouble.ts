import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ringDoorbell } from '@posthorn/core/sql'
import type pg from 'pg'
import type { Stage } from '../scenario.ts'
import { type Seeded, seedBacklog, seedEndpoints } from '../stage/seed.ts'
import { until } from '../stage/wait.ts'

/** Endpoints that are in trouble, or are not there at all. */
export type Trouble = {
  /** Owes them their backlogs, and lets them loose. */
  begin(): Promise<void>
  /** Ends what is in flight, and removes what is owed to them: as if they had never been. */
  end(): Promise<TroubleSeen>
}

export type TroubleSeen = {
  /** The most that the hanging endpoint had in flight at once, at its receiver. */
  hangingInFlight: number
  /** Attempts made at dead endpoints, at the one that had most. */
  mostDeadAttempts: number
}

export type TroubleSizes = { hangingBacklog: number; dead: number; deadBacklog: number }

/** Nothing listens there. */
const deadPort = 1

const freshLanes = `
update posthorn.lane l
set status = $2::smallint, blocked_until = null, failures_in_a_row = 0, breaker_trips = 0, probing = false,
  window_started_at = null, window_attempts = 0, window_failures = 0, ramp_cap = null, failing_since = null
where l.endpoint_id = any($1::uuid[])`

/** One endpoint that takes requests and never answers, and others that refuse every connection. */
export async function createTrouble(stage: Stage, observer: pg.Client, sizes: TroubleSizes): Promise<Trouble> {
  const hanging = await startHanging(stage)
  const [stuck, ...dead] = (await seedEndpoints(observer, {
    endpoints: [
      { tenant: 'stuck', url: `${hanging.origin}/` },
      ...Array.from({ length: sizes.dead }, (_, n) => ({
        tenant: `dead${n % 20}`,
        // Each an origin of its own.
        url: `http://127.1.${Math.floor(n / 250)}.${1 + (n % 250)}:${deadPort}/`,
      })),
    ],
    paused: true,
  })) as [Seeded, ...Seeded[]]
  const ids = [stuck, ...dead].map(({ id }) => id)

  return {
    async begin() {
      hanging.reset()
      await seedBacklog(observer, [stuck], sizes.hangingBacklog)
      await seedBacklog(observer, dead, sizes.dead * sizes.deadBacklog)
      await observer.query(freshLanes, [ids, 0])
      // As the API does when it resumes endpoints.
      await ringDoorbell(observer, ids)
    },
    async end() {
      await observer.query(freshLanes, [ids, 1])
      const seen = { hangingInFlight: hanging.most(), mostDeadAttempts: await mostAttempts(observer, ids.slice(1)) }
      hanging.cut()
      await until(() => noneLeased(observer, ids), { everyMs: 50, timeoutMs: 30_000, what: 'the end of the attempts' })
      await observer.query('delete from posthorn.delivery d where d.endpoint_id = any($1::uuid[])', [ids])
      await observer.query('delete from posthorn.attempt a where a.endpoint_id = any($1::uuid[])', [ids])
      await observer.query('vacuum analyze posthorn.delivery')
      await observer.query('checkpoint')
      return seen
    },
  }
}

async function noneLeased(observer: pg.Client, ids: readonly string[]): Promise<boolean> {
  const { rows } = await observer.query<{ leased: boolean }>(
    'select exists (select from posthorn.delivery d where d.state = 1 and d.endpoint_id = any($1::uuid[])) as leased',
    [ids],
  )
  return rows[0]?.leased === false
}

async function mostAttempts(observer: pg.Client, ids: readonly string[]): Promise<number> {
  const { rows } = await observer.query<{ most: number }>(
    `select coalesce(max(x.n), 0)::integer as most
     from (select count(*) as n from posthorn.attempt a where a.endpoint_id = any($1::uuid[]) group by a.endpoint_id) x`,
    [ids],
  )
  return rows[0]?.most ?? 0
}

async function startHanging(stage: Stage) {
  let inFlight = 0
  let most = 0
  const server = createServer((request, response) => {
    most = Math.max(most, ++inFlight)
    response.once('close', () => inFlight--)
    request.resume()
  })
  server.requestTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  stage.scope.add(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    most: () => most,
    reset: () => {
      most = inFlight
    },
    cut: () => server.closeAllConnections(),
  }
}
