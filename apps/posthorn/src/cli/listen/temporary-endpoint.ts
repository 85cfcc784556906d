import { hostname } from 'node:os'
import type { Posthorn, PosthornError } from '@posthorn/client'
import { StartFailure } from '../../start-failure.ts'

export type TemporaryEndpoint = { id: string; secret: string; remove(): Promise<void> }

/**
 * Registers an endpoint that goes with this process. Its uid is made of this machine and the port, which is held by now: an
 * endpoint of that uid was left behind by a process that was killed, and is removed first.
 * @throws StartFailure that says what to set, where the address may not be reached
 */
export async function registerTemporary(
  client: Posthorn,
  tenant: string,
  { url, port, types }: { url: string; port: number; types: string[] | undefined },
): Promise<TemporaryEndpoint> {
  const uid = `listen:${hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, 60)}:${port}`
  const description = `posthorn listen on ${hostname()}: removed when it ends`
  const create = () => client.endpoints.create(tenant, { url, uid, description, ...(types && { event_types: types }) })
  const endpoint = await create().catch(async (error: PosthornError) => {
    if (error.code !== 'uid_taken') throw refusedTarget(error, url)
    await client.endpoints.delete(tenant, uid)
    return create()
  })
  return {
    id: endpoint.id,
    secret: endpoint.secret!,
    remove: () => client.endpoints.delete(tenant, endpoint.id, { timeoutMs: 5_000, retries: 2 }),
  }
}

/** What to set so that an address may be reached. */
export function howToAllow(url: string): string {
  const { host } = new URL(url)
  return `start API and dispatchers with POSTHORN_ALLOWED_TARGETS=${host} (POSTHORN_ALLOWED_TARGETS=${host} npx -y pnpm@12 start)`
}

function refusedTarget(error: PosthornError, url: string): Error {
  const isTarget = error.status === 422 && error.path === '/url' && /not a public address/.test(error.message)
  if (!isTarget) return error
  return new StartFailure(`Posthorn may not send to ${url}, which is a private address: ${howToAllow(url)}`)
}
