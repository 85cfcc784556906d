import { parseExactly } from '@posthorn/core'
import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../app.ts'
import { handOn } from './json-body.ts'

/**
 * Hands one member of a JSON body on as its own JSON text, in a string: the framework would round its numbers. To stand behind
 * `jsonBody`.
 */
export function exactMember(name: string): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const body = parseExactly(await c.req.text())
    if (typeof body === 'object' && body !== null && Object.hasOwn(body, name)) {
      const text = JSON.stringify((body as Record<string, unknown>)[name])
      handOn(c, JSON.stringify({ ...body, [name]: text }))
    }
    await next()
  }
}
