import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config, Log } from '@posthorn/core'
import type { Lifecycle } from '../lifecycle.ts'
import { listenFailure } from './listen-failure.ts'

export type ServeHealth = {
  config: Pick<Config, 'healthPort' | 'host'>
  /** Why the process cannot do its work now, in fixed words; empty when it can. */
  reasons: () => string[]
  lifecycle: Lifecycle
  log: Log
}

/**
 * Answers as the API does for its own health, for processes that serve nothing else: `/healthz` says that the process is
 * alive, `/readyz` whether it can do its work (200), or why not (503). It answers from before the start's first wait until
 * all is quiet. Without POSTHORN_HEALTH_PORT there is none.
 * @throws StartFailure when the port or the address cannot be had
 */
export async function serveHealth({ config, reasons, lifecycle, log }: ServeHealth): Promise<void> {
  if (config.healthPort === null) return
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0]
    const answer = (status: number, body: unknown): void => {
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
      response.writeHead(status, headers).end(JSON.stringify(body))
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, { status: 'method_not_allowed' })
    if (path === '/healthz') return answer(200, { status: 'ok' })
    if (path !== '/readyz') return answer(404, { status: 'not_found' })
    const now = lifecycle.stopping.aborted ? ['it is stopping'] : reasons()
    answer(now.length === 0 ? 200 : 503, { status: now.length === 0 ? 'ready' : 'not_ready', reasons: now })
  })
  // Nobody's slow request holds a stop.
  server.requestTimeout = 5_000
  await listen(server, config.host, config.healthPort)
  lifecycle.onStop('the health port', () => close(server))
  log.info({ host: config.host, port: (server.address() as AddressInfo).port }, 'health listening')
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure(error, host, 'POSTHORN_HEALTH_PORT', port) ?? error))
    server.listen({ port, host, exclusive: true }, resolve)
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
