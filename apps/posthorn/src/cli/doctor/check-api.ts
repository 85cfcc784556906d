import type { PosthornError } from '@posthorn/client'
import { describeFailure } from '../failure.ts'
import type { Session } from '../session.ts'
import { UsageError } from '../usage-error.ts'
import { type Check, fail, ok, skip } from './check.ts'
import { compareClocks } from './check-database.ts'

const timeoutMs = 5_000

/** Is the API there, ready, of the same time, and is our key right? */
export async function checkApi(session: Session): Promise<Check[]> {
  try {
    const { url, keyFrom } = await session.api()
    const client = await session.posthorn(0)
    const readiness = await client.server.readiness({ timeoutMs })
    const checks: Check[] = [
      readiness.status === 'ready'
        ? ok('api', `ready at ${url}`)
        : fail('api', `at ${url}, not ready: ${readiness.reasons.join('; ')}`, 'see to what it names, and to its log'),
    ]
    checks.push(await checkApiClock(url))
    checks.push(await checkKey(session, keyFrom))
    return checks
  } catch (error) {
    if (error instanceof UsageError) return [skip('api', error.message)]
    const { message, todo = 'start it, or set POSTHORN_URL' } = await describeFailure(error, session)
    return [fail('api', message, todo), skip('api key', 'the API does not answer')]
  }
}

/** The Date header has whole seconds. */
async function checkApiClock(url: string): Promise<Check> {
  const askedAt = Date.now()
  const response = await fetch(`${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/healthz`, {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'manual',
  })
  await response.body?.cancel()
  const date = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(date)) return skip('api clock', 'its answers have no Date')
  return compareClocks('api clock', "the API's", askedAt - (date + 500), 1_000 + (Date.now() - askedAt))
}

async function checkKey(session: Session, keyFrom: string): Promise<Check> {
  try {
    await (await session.posthorn(0)).tenants.list({ limit: 1 }, { timeoutMs }).page()
    return ok('api key', `the operator key from ${keyFrom} is accepted`)
  } catch (error) {
    const { code } = error as PosthornError
    if (code === 'forbidden') return ok('api key', `the key from ${keyFrom} is accepted; it is no operator's`)
    const { message, todo = 'set POSTHORN_API_KEY to a key of this Posthorn' } = await describeFailure(error, session)
    return fail('api key', message, todo)
  }
}
