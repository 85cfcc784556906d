import type { Log } from '@posthorn/core'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded/index.ts'
import type { Lifecycle } from '../lifecycle.ts'
import { StartFailure } from '../start-failure.ts'

const maxRestarts = 3
const withinMs = 600_000

/**
 * Starts the embedded Postgres, which the lifecycle stops last, and starts it again on the same port when it dies under
 * us: all that uses it reconnects by itself. When that does not help, the process is stopped.
 * @returns its connection string, the same after each restart
 */
export async function startOwnPostgres(dataDir: string, lifecycle: Lifecycle, log: Log): Promise<string> {
  let server = await startEmbeddedPostgres({ dataDir, log })
  let restarting: Promise<void> | null = null
  let restarts: number[] = []
  lifecycle.onStop('the embedded Postgres', async () => {
    await restarting
    await server.stop()
  })
  lifecycle.onKill(() => {
    try {
      // Immediate: what was committed is recovered at the next start.
      process.kill(server.pid, 'SIGQUIT')
    } catch {
      // It is gone already.
    }
  })

  function watch(watched: EmbeddedPostgres): void {
    void watched.exited.then((exit) => {
      if (lifecycle.stopping.aborted) return
      log.error(exit, 'the embedded Postgres died: it is started again')
      restarting = restart(watched).catch((error: Error) => {
        lifecycle.stop(new StartFailure(`the embedded Postgres died and cannot be started again: ${error.message}`))
      })
    })
  }

  async function restart(dead: EmbeddedPostgres): Promise<void> {
    const now = Date.now()
    restarts = [...restarts.filter((at) => now - at < withinMs), now]
    if (restarts.length > maxRestarts) throw new Error(`it died ${restarts.length} times within ten minutes`)
    await dead.stop()
    server = await startEmbeddedPostgres({ dataDir, log, port: dead.port })
    watch(server)
  }

  watch(server)
  return server.url
}
