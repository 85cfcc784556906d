import { startApi } from '@posthorn/api'
import type { Config, Log, Vault } from '@posthorn/core'
import { createPool } from '@posthorn/core/db'
import { createPrisma, type PrismaClient } from '@posthorn/core/prisma'
import { agreeOnMaxPayload } from '@posthorn/core/sql'
import type { Lifecycle } from '../lifecycle.ts'
import { listenFailure } from './listen-failure.ts'

export type ServeApi = {
  config: Config
  databaseUrl: string
  vault: Vault
  prisma: PrismaClient
  lifecycle: Lifecycle
  log: Log
}

/** Prisma's client, which the lifecycle closes. */
export function openControlPlane(databaseUrl: string, lifecycle: Lifecycle): PrismaClient {
  const prisma = createPrisma(databaseUrl)
  lifecycle.onStop('the control plane', () => prisma.$disconnect())
  return prisma
}

/**
 * Serves the API on a migrated database until the lifecycle stops it.
 * @returns the port that it listens on
 * @throws StartFailure when the port or the address cannot be had
 */
export async function serveApi({ config, databaseUrl, vault, prisma, lifecycle, log }: ServeApi): Promise<number> {
  const onError = (error: Error): void => log.warn({ err: error }, 'an idle database connection was lost')
  const pool = createPool({ connectionString: databaseUrl, max: 14, applicationName: 'posthorn api', onError })
  lifecycle.onStop("the API's connections", () => pool.end())
  const maxPayloadBytes = await agreeOnMaxPayload(pool, config.maxPayloadBytes)
  const api = await startApi({ config: { ...config, maxPayloadBytes }, log, pool, prisma, vault }).catch(
    (error: unknown) => {
      throw listenFailure(error, config.host, 'POSTHORN_PORT', config.port) ?? error
    },
  )
  lifecycle.onStop('the API', async () => {
    await api.stop()
    log.info('api stopped')
  })
  log.info({ host: config.host, port: api.port }, 'api listening')
  return api.port
}
