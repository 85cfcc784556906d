import type { MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import type { AppEnv } from '../app.ts'

/** Lets pages of these origins call the API. Without it browsers let none. */
export function createCors(origins: readonly string[]): MiddlewareHandler<AppEnv> {
  const allow = cors({
    origin: [...origins],
    allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: ['authorization', 'content-type', 'idempotency-key'],
    exposeHeaders: ['idempotent-replayed', 'retry-after'],
    maxAge: 600,
  })
  return (c, next) => {
    // It would answer every OPTIONS itself; one that is no preflight asks what methods there are.
    const preflight = c.req.header('access-control-request-method') !== undefined
    return c.req.method === 'OPTIONS' && !preflight ? next() : allow(c, next)
  }
}
