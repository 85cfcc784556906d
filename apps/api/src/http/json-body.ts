import type { Context, MiddlewareHandler } from 'hono'
import type { AppEnv } from '../app.ts'
import { requireJson } from './content-type.ts'
import { readJsonDocument } from './json-document.ts'
import { readBody } from './read-body.ts'

/** What a control-plane body may hold. */
const maxDocumentBytes = 1024 * 1024

/**
 * Reads and checks a JSON body before the route's schema sees it. Every route whose `request.body` is JSON names it as
 * `middleware`; a test holds that over the OpenAPI document.
 */
export const jsonBody = jsonBodyUpTo(maxDocumentBytes)

/** As `jsonBody`, for a route that takes more, or less. */
export function jsonBodyUpTo(maxBytes: number): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    requireJson(c)
    handOn(c, readJsonDocument(await readBody(c, maxBytes)))
    await next()
  }
}

/** As `jsonBody`, for a route all of whose fields are optional: no body at all is `{}`. */
export const jsonBodyOrNone: MiddlewareHandler<AppEnv> = async (c, next) => {
  const typed = c.req.header('content-type') !== undefined
  if (typed) requireJson(c)
  const body = await readBody(c, maxDocumentBytes)
  if (!typed && body.length > 0) requireJson(c)
  handOn(c, body.length > 0 ? readJsonDocument(body) : '{}')
  await next()
}

/** The framework reads the body from here from now on, and the type in the one spelling that it knows. */
export function handOn(c: Context<AppEnv>, text: string): void {
  c.req.raw.headers.set('content-type', 'application/json')
  // Its type says string; it reads, and itself writes, a promise.
  c.req.bodyCache.text = Promise.resolve(text) as unknown as string
}
