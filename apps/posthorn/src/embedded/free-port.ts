import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { EmbeddedPostgresError } from './embedded-postgres-error.ts'

/** True when nothing listens on this port of 127.0.0.1. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * A port of 127.0.0.1 that is free now: the wanted one if it can be had, else one from 15,000 to 31,999. Above that the
 * system hands ports out to outgoing connections, and a port that is free while its server restarts would get lost to one.
 */
export async function freePort(wanted: number | null): Promise<number> {
  if (wanted !== null && (await isPortFree(wanted))) return wanted
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(15_000, 32_000)
    if (await isPortFree(port)) return port
  }
  throw new EmbeddedPostgresError('no free port was found on 127.0.0.1')
}
