import { isApiToken } from '@posthorn/core'
import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../app.ts'
import { ApiProblem, notFound, tooManyRequests } from '../http/api-problem.ts'
import { createRequestRate } from '../http/request-rate.ts'
import type { Principal } from './principal.ts'
import type { TokenReader } from './token-reader.ts'

const bearer = /^Bearer +([\x21-\x7e]+) *$/i
const maxKeys = 50_000
const jobPath = /^\/v1\/jobs\/[^/]+$/
const tenantPath = /^\/v1\/tenants\/[^/]+$/
const publishPath = /^\/v1\/tenants\/[^/]+\/events(?:\/batch)?$/

export type Authentication = {
  /**
   * Finds who asks. A key may ask `perSecond` times a second of this process, and as much at once.
   * @throws ApiProblem 401 for no token or an unknown one, 429 for a key that asks too often, or too many unknown tokens
   */
  authenticate: MiddlewareHandler<AppEnv>
  /**
   * Whether the holder of the token in this header may publish for a tenant now, as far as that is known without asking the
   * database. A yes counts as one of the key's requests; a no is no refusal.
   */
  maySurelyPublish(authorization: string | undefined, tenantId: string): boolean
}

export function createAuthentication(tokens: TokenReader, perSecond: number): Authentication {
  const limited = perSecond > 0
  const rate = createRequestRate({ perSecond, burst: perSecond, maxKeys, now: () => performance.now() })
  const waitFor = (principal: Principal): number => (limited ? rate.take(principal.keyId ?? 'operator') : 0)

  const authenticate: MiddlewareHandler<AppEnv> = async (c, next) => {
    // It asks what there is, and browsers send it without a token.
    if (c.req.method === 'OPTIONS') return next()
    const token = tokenOf(c.req.header('authorization'))
    const address = c.env?.incoming?.socket.remoteAddress ?? ''
    const principal = token === undefined ? null : await tokens.read(token, address)
    if (principal === null) {
      const given = bearer.test(c.req.header('authorization') ?? '')
      const challenge = `Bearer realm="posthorn"${given ? ', error="invalid_token"' : ''}`
      throw new ApiProblem('unauthorized', undefined, { headers: { 'www-authenticate': challenge } })
    }
    const waitMs = waitFor(principal)
    if (waitMs > 0) throw tooManyRequests('This key asks too often.', waitMs)
    c.set('principal', principal)
    await next()
  }

  return {
    authenticate,
    maySurelyPublish(authorization, tenantId) {
      const token = tokenOf(authorization)
      const principal = token === undefined ? null : tokens.known(token)
      if (principal === null || (principal.tenantId !== null && principal.tenantId !== tenantId)) return false
      return waitFor(principal) === 0
    },
  }
}

function tokenOf(authorization: string | undefined): string | undefined {
  const token = bearer.exec(authorization ?? '')?.[1]
  return token !== undefined && isApiToken(token) ? token : undefined
}

/**
 * Refuses Posthorn's own webhooks, by a header that each of them has and no endpoint can change: with a key among its headers,
 * an endpoint could have deliveries owed again for ever.
 * @throws ApiProblem 403
 */
export const refuseWebhooks: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (c.req.header('posthorn-event-type') !== undefined) throw new ApiProblem('webhook_loop')
  await next()
}

/** Notes the tenant in the path, decoded as the handlers will see it. */
export const notePathTenant: MiddlewareHandler<AppEnv> = async (c, next) => {
  c.set('pathTenant', c.req.param('tenant'))
  await next()
}

/**
 * What a token may do: an operator's all, a tenant's what lies under its tenant, and its jobs, a publish key's only publish.
 * Anything not named here is the operator's; so is the deletion of a tenant.
 * @throws ApiProblem 403 for a token of the wrong kind, 404 for another tenant's
 */
export const authorize: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (c.req.method !== 'OPTIONS') checkAccess(c.var.principal, c.req.method, c.req.path, c.var.pathTenant)
  await next()
}

function checkAccess(principal: Principal, method: string, path: string, tenant: string | undefined): void {
  if (principal.kind === 'operator') return
  const allowed =
    principal.kind === 'tenant'
      ? tenant !== undefined || jobPath.test(path)
      : method === 'POST' && publishPath.test(path)
  if (!allowed) throw forbidden(principal)
  // Whose a job is, is looked up with it.
  if (tenant === undefined) return
  if (principal.tenantId !== null && principal.tenantId !== tenant) throw notFound('resource')
  if (method === 'DELETE' && tenantPath.test(path)) throw forbidden(principal)
}

function forbidden({ kind }: Principal): ApiProblem {
  return new ApiProblem('forbidden', `A ${kind} key may not do this.`)
}
