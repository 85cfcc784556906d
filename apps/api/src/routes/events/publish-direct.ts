import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIdempotencyKey, isTenantId, type Log } from '@posthorn/core'
import type { Authentication } from '../../auth/authenticate.ts'
import type { ByteBudget } from '../../http/byte-budget.ts'
import { isJson } from '../../http/content-type.ts'
import { noteProblem, writeProblem } from '../../http/problem-response.ts'
import { readIncoming } from '../../http/read-body.ts'
import { securityHeaders } from '../../http/security-headers.ts'
import type { PublishOne } from './publish.ts'

export type DirectPublish = (request: IncomingMessage, response: ServerResponse, bodies: ByteBudget) => boolean

export type DirectPublishDeps = Pick<Authentication, 'maySurelyPublish'> & { publishOne: PublishOne; log: Log }

/** A larger one costs more than the way that it takes. */
const maxBodyBytes = 64 * 1024
const publishPath = /^\/v1\/tenants\/([A-Za-z0-9._:-]+)\/events$/
const plainHost = /^[a-z0-9.-]+(?::\d{1,5})?$/
const fixedHeaders = Object.entries(securityHeaders).flat()

/**
 * Publishing one event is what the API is asked for thousands of times a second, and the app's way (a web-standard request, its
 * middleware, a web-standard response) costs a third of it. This answers such requests on Node's own objects.
 *
 * Invariant: it takes only what the app would not refuse before it reads the body, and leaves all else to the app, untouched. So
 * whatever is refused for its path, its headers, its token or its size is refused in one place, there.
 */
export function createDirectPublish({ maySurelyPublish, publishOne, log }: DirectPublishDeps): DirectPublish {
  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    bodies: ByteBudget,
    tenantId: string,
  ): Promise<void> {
    let status: number
    let headers: Record<string, string>
    let text: string
    try {
      const body = await readIncoming(request, response, maxBodyBytes, bodies)
      const made = await publishOne(tenantId, (request.headers['idempotency-key'] as string | undefined) ?? null, body)
      status = 202
      headers = made.headers
      text = made.text
    } catch (error) {
      const problem = writeProblem(noteProblem(log, error, request.method!, request.url!))
      status = problem.status
      headers = problem.headers
      text = problem.body
    }
    const given = [...fixedHeaders]
    for (const name in headers) if (name !== 'cache-control') given.push(name, headers[name]!)
    given.push('content-length', String(Buffer.byteLength(text)))
    response.writeHead(status, given)
    response.end(text)
  }

  return (request, response, bodies) => {
    const tenantId = request.method === 'POST' ? publishPath.exec(request.url!)?.[1] : undefined
    if (tenantId === undefined || !isTenantId(tenantId) || !isPlain(request)) return false
    if (!bodies.fits(maxBodyBytes) || !maySurelyPublish(request.headers.authorization, tenantId)) return false
    void answer(request, response, bodies, tenantId)
    return true
  }
}

/** Whether nothing in the headers asks for more than a publish needs. */
function isPlain({ headers, rawHeaders }: IncomingMessage): boolean {
  const key = headers['idempotency-key']
  return (
    // None twice: of such the app sees all.
    Object.keys(headers).length * 2 === rawHeaders.length &&
    plainHost.test(headers.host ?? '') &&
    Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= maxBodyBytes &&
    isJson(headers['content-type']) &&
    (key === undefined || isIdempotencyKey(key as string)) &&
    headers.origin === undefined &&
    headers['posthorn-event-type'] === undefined
  )
}
