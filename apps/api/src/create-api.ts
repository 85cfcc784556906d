import { createTargetRules } from '@posthorn/core'
import { type ApiDeps, type App, createApp, type RouteDeps } from './app.ts'
import { authorize, createAuthentication, notePathTenant, refuseWebhooks } from './auth/authenticate.ts'
import { createDeletedTenantGuard } from './auth/deleted-tenant.ts'
import { createTokenReader } from './auth/token-reader.ts'
import { ApiProblem } from './http/api-problem.ts'
import { createCors } from './http/cors.ts'
import { createKnownMethods } from './http/known-methods.ts'
import { createProblemHandler } from './http/problem-response.ts'
import { createDirectPublish, type DirectPublish } from './routes/events/publish-direct.ts'
import { registerRoutes } from './routes/index.ts'

export type Api = {
  app: App
  /** Answers a publish without the app. @returns false, having done nothing, when the app is to answer it */
  publishDirectly: DirectPublish
  /** Returns when nothing of the API runs in the background. Idempotent. */
  stop(): Promise<void>
}

/** The HTTP API without a server. */
export function createApi(deps: ApiDeps): Api {
  const app = createApp()
  const tokens = createTokenReader({ operatorToken: deps.config.apiKey, prisma: deps.prisma, log: deps.log })
  const targets = createTargetRules(deps.config.allowedTargets)
  const routeDeps: RouteDeps = { ...deps, targets, tokens }

  const handleProblem = createProblemHandler(deps.log)
  app.onError(handleProblem)
  const { corsOrigins, requestsPerSecond } = deps.config
  if (corsOrigins.length > 0) app.use('/v1/*', createCors(corsOrigins))
  app.use('/v1/*', refuseWebhooks)
  app.use('/v1/tenants/:tenant/*', notePathTenant)
  const authentication = createAuthentication(tokens, requestsPerSecond)
  app.use('/v1/*', authentication.authenticate, authorize)
  app.use('/v1/tenants/:tenant/*', createDeletedTenantGuard(deps.pool))
  const routes = registerRoutes(app, routeDeps)

  const methodsOf = createKnownMethods(app)
  app.notFound((c) => {
    const methods = methodsOf(c.req.path)
    if (methods.length === 0) return handleProblem(new ApiProblem('route_not_found'), c)
    const headers = { allow: methods.join(', ') }
    if (c.req.method === 'OPTIONS') return c.body(null, 204, headers)
    return handleProblem(new ApiProblem('method_not_allowed', undefined, { headers }), c)
  })

  let stopped: Promise<void> | undefined
  return {
    app,
    publishDirectly: createDirectPublish({ ...deps, ...authentication, ...routes }),
    stop() {
      stopped ??= routes.stop().then(() => tokens.stop())
      return stopped
    },
  }
}
