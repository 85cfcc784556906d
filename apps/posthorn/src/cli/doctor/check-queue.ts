import { encodeId } from '@posthorn/core'
import { isDatabaseUnavailable, type Pool } from '@posthorn/core/db'
import { readBlockedLanes, readDispatchers, readOldestDue } from '@posthorn/core/sql'
import { type Check, duration, fail, ok, skip, warn } from './check.ts'

/** A dispatcher that has had no answer to its heartbeat for so long has stopped claiming. */
const silentSeconds = 10
const workWarnSeconds = 30
const workFailSeconds = 300
const shownLanes = 5

export async function checkDispatchers(pool: Pool): Promise<Check[]> {
  const all = await readDispatchers(pool)
  const alive = all.filter((each) => each.silentSeconds < silentSeconds)
  const silent = all.filter((each) => each.silentSeconds >= silentSeconds)
  const where = (rows: typeof all): string =>
    rows
      .slice(0, 3)
      .map(({ host, pid }) => `${host} (${pid})`)
      .join(', ')
  const checks =
    alive.length === 0
      ? [fail('dispatchers', 'none runs: nothing is sent', 'start one: `posthorn dispatcher`, or `start`')]
      : [ok('dispatchers', `${alive.length} alive: ${where(alive)}${alive.length > 3 ? ' ...' : ''}`)]
  const [latest] = silent
  if (latest !== undefined) {
    checks.push(
      warn(
        'dispatchers',
        `${silent.length} silent, ${where([latest])} for ${duration(latest.silentSeconds)}: its leases were given to others`,
        'look at its log; one that was killed or has lost the database is forgotten within an hour or so',
      ),
    )
  }
  return checks
}

export async function checkOldestWork(pool: Pool): Promise<Check> {
  const name = 'oldest work'
  try {
    const oldest = await readOldestDue(pool)
    if (oldest === null) return ok(name, 'nothing that is due waits')
    const is = `a delivery has been due for ${duration(oldest.ageSeconds)}`
    const todo = 'start more dispatchers, or see their logs: what is due at open lanes is sent within seconds'
    if (oldest.ageSeconds > workFailSeconds) return fail(name, is, todo)
    return oldest.ageSeconds > workWarnSeconds ? warn(name, is, todo) : ok(name, is)
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
    return skip(name, 'could not be read within half a second')
  }
}

export async function checkLanes(pool: Pool): Promise<Check> {
  const { total, worst } = await readBlockedLanes(pool, shownLanes)
  if (total === 0) return ok('lanes', 'none is blocked')
  const some = worst.map(
    ({ tenantId, endpointId, failuresInARow }) =>
      `${tenantId}/${encodeId('ep', endpointId)} (${failuresInARow} failures in a row)`,
  )
  return warn(
    'lanes',
    `${total} blocked after failures: ${some.join(', ')}${total > some.length ? ' ...' : ''}`,
    'their receivers fail: `posthorn endpoints show` and `posthorn attempts` tell how. A probe goes out by itself',
  )
}
