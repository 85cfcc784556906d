import { get } from 'node:http'
import { startTestServer } from './test-server.ts'

/** The server that the test files of a run share, each with a database of its own. */
export type SharedServer = {
  /** A database on it from which others may be made. */
  adminUrl: string
  /** What it is, for the reader of the run's output. */
  name: string
  stop(): Promise<void>
}

/**
 * `POSTHORN_TEST_DATABASE_URL` if set, else a container where a Docker engine answers, else the embedded Postgres.
 * `POSTHORN_TEST_SERVER` asks for one of the two: `container`, and it fails where there is none, or `embedded`.
 * A kill of this one would lose data: it runs without fsync.
 */
export async function startSharedServer(): Promise<SharedServer> {
  const given = process.env['POSTHORN_TEST_DATABASE_URL']
  if (given) return { adminUrl: given, name: 'POSTHORN_TEST_DATABASE_URL', stop: () => Promise.resolve() }
  const wanted = process.env['POSTHORN_TEST_SERVER']
  if (wanted === 'container' || (wanted !== 'embedded' && (await dockerAnswers()))) {
    try {
      return await startContainer()
    } catch (error) {
      if (wanted === 'container') throw error
      console.warn(
        `TESTS: the Docker engine answers, but postgres:17-alpine does not start: ${(error as Error).message}`,
      )
    }
  }
  return startLocal('embedded')
}

/** A server from binaries on this machine. */
export async function startLocal(bin: '15' | 'embedded'): Promise<SharedServer> {
  const server = await startTestServer({ bin, fsync: false, migrated: false })
  return {
    adminUrl: server.url,
    name: bin === '15' ? "Debian's Postgres 15" : 'the embedded Postgres',
    stop: server.stop,
  }
}

async function startContainer(): Promise<SharedServer> {
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true'
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql')
  const container = await new PostgreSqlContainer('postgres:17-alpine')
    .withCommand(['postgres', '-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_connections=300'])
    .start()
  return {
    adminUrl: container.getConnectionUri(),
    name: 'postgres:17-alpine in a container',
    stop: async () => {
      await container.stop()
    },
  }
}

/** One ping with a second's time: a socket without an engine behind it must not hold the tests. */
function dockerAnswers(): Promise<boolean> {
  const host = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock'
  const where = host.startsWith('unix://')
    ? { socketPath: host.slice('unix://'.length) }
    : { host: new URL(host).hostname, port: new URL(host).port || 2375 }
  return new Promise((resolve) => {
    const request = get({ ...where, path: '/_ping', timeout: 1_000 }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.once('timeout', () => request.destroy(new Error('no answer')))
    request.once('error', () => resolve(false))
  })
}
