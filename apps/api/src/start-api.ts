import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { Config } from '@posthorn/core'
import type { ApiDeps } from './app.ts'
import { createApi } from './create-api.ts'
import { ApiProblem } from './http/api-problem.ts'
import { createByteBudget } from './http/byte-budget.ts'
import { answerClientErrors } from './http/client-errors.ts'
import { drainUnread } from './http/drain-unread.ts'
import { trackConnections } from './http/open-connections.ts'
import { problemResponse } from './http/problem-response.ts'
import { addSecurityHeaders } from './http/security-headers.ts'
import { defaultLimits, type ServerLimits, toServerOptions } from './http/server-limits.ts'

/** How long requests under way may take to end once a stop has begun. */
const drainMs = 10_000

export type StartApiOptions = Omit<ApiDeps, 'config'> & {
  config: ApiDeps['config'] & Pick<Config, 'host' | 'port' | 'maxConnections'>
  /** Others than the default. */
  limits?: Partial<ServerLimits>
}

export type RunningApi = {
  /** The port that it listens on. */
  port: number
  /**
   * Takes no new connection, closes those without a request under way at once, lets requests under way end for up to
   * 10 s, and returns when all is quiet. A request that comes meanwhile is a 503. Idempotent. What was passed in is left open.
   */
  stop(): Promise<void>
}

/** Serves the API. @throws the error of `listen`, EADDRINUSE among them */
export async function startApi(options: StartApiOptions): Promise<RunningApi> {
  const limits = { ...defaultLimits, ...options.limits }
  const api = createApi(options)
  const bodies = createByteBudget(limits.maxBodyBytesAtOnce)
  let stopping = false
  const listener = getRequestListener(
    (request, env) => {
      if (stopping) {
        const refusal = new ApiProblem('stopping', undefined, {
          retryAfterSeconds: 2,
          headers: { connection: 'close' },
        })
        return problemResponse(refusal)
      }
      const { url = '' } = env.incoming
      if (url.length > limits.maxUrlLength) {
        const detail = `Path and query have more than ${limits.maxUrlLength} characters.`
        return problemResponse(new ApiProblem('uri_too_long', detail))
      }
      return api.app.fetch(request, { ...env, bodies })
    },
    // A host that is none, or a missing one; the app answers every other fault itself.
    {
      errorHandler: (error) =>
        problemResponse(new ApiProblem(error instanceof RequestError ? 'malformed_request' : 'internal_error')),
      // Cuts a connection half a second after its answer; `drainUnread` is more patient.
      autoCleanupIncoming: false,
    },
  )
  const server = createServer(toServerOptions(limits), (request, response) => {
    if (!stopping && api.publishDirectly(request, response, bodies)) return
    addSecurityHeaders(response)
    drainUnread(request, response)
    void listener(request, response)
  })
  server.maxConnections = options.config.maxConnections
  server.setTimeout(limits.silenceMs)
  // What else is expected is no reason to refuse (RFC 9110, 10.1.1), and Node would without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  const connections = trackConnections(server)
  answerClientErrors(server, connections)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.config.port, options.config.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  server.on('error', (error) => options.log.error({ err: error }, 'the HTTP server failed'))

  let stopped: Promise<void> | undefined
  async function stop(): Promise<void> {
    stopping = true
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    connections.closeIdle()
    // Each as soon as its answer has gone out, and what was still being accepted.
    const sweep = setInterval(connections.closeIdle, 50)
    const deadline = setTimeout(connections.closeAll, drainMs)
    await closed
    clearInterval(sweep)
    clearTimeout(deadline)
    await api.stop()
  }
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}
