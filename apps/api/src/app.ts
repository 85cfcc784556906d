import type { HttpBindings } from '@hono/node-server'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { Config, Log, TargetRules, Vault } from '@posthorn/core'
import type { Pool } from '@posthorn/core/db'
import type { PrismaClient } from '@posthorn/core/prisma'
import type { Principal } from './auth/principal.ts'
import type { TokenReader } from './auth/token-reader.ts'
import type { ByteBudget } from './http/byte-budget.ts'
import { problemFromParameters } from './http/parameters.ts'
import { problemFromZod } from './http/zod-problem.ts'

/** What the API is given. It closes none of it: who made it, ends it. */
export type ApiDeps = {
  config: Pick<
    Config,
    'apiKey' | 'allowedTargets' | 'retentionMs' | 'corsOrigins' | 'requestsPerSecond' | 'strictEventTypes'
  > & {
    maxPayloadBytes: number
  }
  log: Log
  /** The data path, and health. */
  pool: Pool
  /** The control plane. */
  prisma: PrismaClient
  vault: Vault
}

/** What a route is given. */
export type RouteDeps = ApiDeps & {
  targets: Pick<TargetRules, 'checkUrl'>
  tokens: TokenReader
}

export type AppEnv = {
  /** Absent when a test calls the app without a server. */
  Bindings: Partial<HttpBindings & { bodies: ByteBudget }>
  Variables: {
    /** Set under /v1. */
    principal: Principal
    /** The tenant named by the path, decoded as the handlers see it. */
    pathTenant: string | undefined
    /** Set while a former tenant of that name is being deleted: what is older is not shown. */
    keptSince?: Date
  }
}

export type App = OpenAPIHono<AppEnv>

/** An app without routes, whose validation answers in problems. */
export function createApp(): App {
  return new OpenAPIHono<AppEnv>({
    defaultHook: (result, c) => {
      if (result.success) return
      if (result.target === 'param') throw problemFromParameters(result.error, c.req.param())
      throw problemFromZod(result.error)
    },
  })
}
