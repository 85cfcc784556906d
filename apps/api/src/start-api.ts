import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { Config } from '@posthorn/core'
import type { ApiDeps } from './app.ts'
import { createApi } from './create-api.ts'
import { ApiProblem } from './http/api-problem.ts'
import { trackConnections } from './http/open-connections.ts'
import { problemResponse } from './http/problem-response.ts'

/** How long requests under way may take to end once a stop has begun. */
const drainMs = 10_000

export type StartApiOptions = Omit<ApiDeps, 'config'> & { config: ApiDeps['config'] & Pick<Config, 'host' | 'port'> }

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
  const api = createApi(options)
  let stopping = false
  const server = createAdaptorServer({
    fetch: (request, env) => {
      if (stopping) {
        const refusal = new ApiProblem('stopping', undefined, {
          retryAfterSeconds: 2,
          headers: { connection: 'close' },
        })
        return problemResponse(refusal)
      }
      return api.app.fetch(request, env)
    },
    // A body that stops coming must not hold a connection for ever.
    serverOptions: { requestTimeout: 60_000, headersTimeout: 20_000, keepAliveTimeout: 30_000 },
  })
  const connections = trackConnections(server)
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
