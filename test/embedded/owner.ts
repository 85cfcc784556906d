import { startEmbeddedPostgres } from '../../apps/posthorn/src/embedded/index.ts'

/* A process that owns an embedded Postgres until SIGTERM, as `posthorn start` does. argv: data folder, lock wait in ms. */
const [, , dataDir = '', lockWaitMs = '10000'] = process.argv
const line = (details: object, message: string): void => console.log(JSON.stringify({ ...details, message }))

try {
  const server = await startEmbeddedPostgres({
    dataDir,
    lockWaitMs: Number(lockWaitMs),
    log: { info: line, warn: line },
  })
  line({ url: server.url, pid: server.pid }, 'ready')
  process.once('SIGTERM', () => {
    line({}, 'stopping')
    void server.stop().then(() => process.exit(0))
  })
  void server.exited.then((exit) => line(exit, 'server ended'))
  setInterval(() => undefined, 60_000)
} catch (error) {
  line({ name: (error as Error).name, reason: (error as Error).message }, 'refused')
  process.exitCode = 1
}
