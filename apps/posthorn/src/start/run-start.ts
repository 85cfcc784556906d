import { createRequire } from 'node:module'
import type { Config } from '@posthorn/core'
import { defaultListenPort } from '../cli/listen/default-port.ts'
import type { Launch } from '../role.ts'
import { openVault } from '../roles/open-vault.ts'
import { migrateWhenUp } from '../roles/wait-for-database.ts'
import { watchRunners } from './ancestors.ts'
import { tellApiUrl } from './api-url.ts'
import { bannerAsJson, writeBanner } from './banner.ts'
import { startOwnPostgres } from './own-postgres.ts'
import { readEncryptionKey, readOperatorToken } from './secrets.ts'

/** Where it is looked for: the first that is free. */
const samplePorts = [8081, 8082, 8083, 8084, 8085, 8086, 8087, 8088, 8089, 8090]

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }

/**
 * All in one process: the embedded Postgres (or POSTHORN_DATABASE_URL), API, dispatcher and the sample receiver. What is
 * acquired first is stopped last: the API refuses and drains, the dispatcher settles, the receiver closes, Postgres stops.
 */
export async function runStart({ config: given, folder, json, lifecycle, log }: Launch): Promise<void> {
  const print = (line: string): void => void process.stdout.write(`${json ? JSON.stringify({ line }) : line}\n`)
  log.info({ version, pid: process.pid }, 'starting')
  const runners = watchRunners(() => {
    log.info('the command that started this process is gone: stopping')
    lifecycle.stop()
  })
  lifecycle.onStop('the watch for the command that started this', async () => runners.stop())

  // Loaded while Postgres starts. Whoever waits for them below meets a failure.
  const parts = Promise.all([
    import('../roles/serve-api.ts'),
    import('../roles/serve-dispatcher.ts'),
    import('../sample/sample-receiver.ts'),
    import('../sample/live-secrets.ts'),
  ])
  parts.catch(() => undefined)

  const encryptionKey = await readEncryptionKey(given)
  const operator = await readOperatorToken(given)
  lifecycle.check()
  const databaseUrl = given.databaseUrl ?? (await startOwnPostgres(given.dataDir, lifecycle, log))
  lifecycle.check()
  await migrateWhenUp({ url: databaseUrl, log, stopping: lifecycle.stopping })
  const [{ openControlPlane, serveApi }, { serveDispatcher }, { openSampleReceiver }, { createLiveSecrets }] =
    await parts
  lifecycle.check()

  const vault = await openVault({ ...given, encryptionKey }, databaseUrl)
  const prisma = openControlPlane(databaseUrl, lifecycle)
  const sample = await openSampleReceiver({
    host: '127.0.0.1',
    ports: samplePorts.filter((port) => port !== given.port),
    names: [],
    secretsOf: (origins) => createLiveSecrets({ prisma, vault, origins }),
    print,
  })
  if (sample === null) log.warn('ports 8081 to 8090 of 127.0.0.1 are taken: there is no sample receiver')
  else lifecycle.onStop('the sample receiver', sample.stop)

  const config: Config = {
    ...given,
    apiKey: operator.token,
    encryptionKey,
    allowedTargets: [
      ...given.allowedTargets,
      ...(sample === null ? [] : [{ address: '127.0.0.1', port: sample.port }]),
      { address: '127.0.0.1', port: defaultListenPort },
    ],
  }
  await serveDispatcher({ config, databaseUrl, lifecycle, log })
  lifecycle.check()
  const port = await serveApi({ config, databaseUrl, vault, prisma, lifecycle, log })
  const isNew = await operator.keep()
  lifecycle.check()
  tellApiUrl(given, port, lifecycle)
  const banner = {
    version,
    seconds: performance.now() / 1_000,
    dataDir: given.dataDir,
    folder,
    host: given.host,
    port,
    samplePort: sample?.port ?? null,
    tokenPath: operator.path,
    newToken: isNew ? operator.token : null,
  }
  if (json) process.stdout.write(`${JSON.stringify(bannerAsJson(banner))}\n`)
  else print(writeBanner(banner))
  lifecycle.stopping.addEventListener('abort', () => {
    print('Stopping: what is in flight is finished first. A second Ctrl-C ends it at once.')
  })
}
