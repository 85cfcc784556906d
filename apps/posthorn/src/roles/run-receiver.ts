import { hostname } from 'node:os'
import type { Launch } from '../role.ts'
import { createLiveSecrets } from '../sample/live-secrets.ts'
import { openSampleReceiver } from '../sample/sample-receiver.ts'
import { StartFailure } from '../start-failure.ts'
import { openVault } from './open-vault.ts'
import { openControlPlane } from './serve-api.ts'
import { migrateWhenUp } from './wait-for-database.ts'

/**
 * The sample receiver alone, to try a deployment out on: it knows the secrets of the endpoints that are registered at its
 * own host name (`http://<hostname>:<POSTHORN_PORT>/...`) or this machine's loopback address, and reads no others.
 */
export async function runReceiver({ config, json, lifecycle, log }: Launch): Promise<void> {
  const databaseUrl = config.databaseUrl!
  await migrateWhenUp({ url: databaseUrl, log, stopping: lifecycle.stopping })
  lifecycle.check()
  const vault = await openVault(config, databaseUrl)
  const prisma = openControlPlane(databaseUrl, lifecycle)
  const { host, port } = config
  const receiver = await openSampleReceiver({
    host,
    ports: [port],
    names: [hostname()],
    secretsOf: (origins) => createLiveSecrets({ prisma, vault, origins }),
    print: (line) => void process.stdout.write(`${json ? JSON.stringify({ line }) : line}\n`),
  })
  if (receiver === null)
    throw new StartFailure(`POSTHORN_HOST and POSTHORN_PORT: port ${port} of ${host} cannot be had`)
  lifecycle.onStop('the sample receiver', receiver.stop)
  log.info({ host, port: receiver.port }, 'receiver listening')
}
