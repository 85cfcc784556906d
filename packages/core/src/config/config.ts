import { resolve } from 'node:path'
import type { z } from 'zod'
import type { LogLevel } from '../telemetry/log.ts'
import type { AllowedTarget } from './allowed-target.ts'
import { ConfigError } from './config-error.ts'
import type { EgressProxy } from './egress-proxy.ts'
import { givenIn } from './given.ts'
import { clientSettings, settings } from './settings.ts'

/** What a process does: all in one, or one part. It decides which settings must be there. */
export type Role = 'start' | 'api' | 'dispatcher' | 'migrate' | 'reencrypt' | 'receiver'

export type ConfigDefaults = {
  role: Role
  /** The folder where the command was typed: relative data folders are meant from there. */
  folder: string
}

/** All settings, read once. Frozen throughout. */
export type Config = {
  readonly role: Role
  /** Null: an embedded Postgres in the data folder (role `start` only). */
  readonly databaseUrl: string | null
  /** Absolute. */
  readonly dataDir: string
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Where a dispatcher that runs alone answers for its health; 0 for any free port, null for nowhere. */
  readonly healthPort: number | null
  /** Null: made at first start. */
  readonly apiKey: string | null
  /** 32 bytes in base64. Null: made at first start (embedded), or not needed (`migrate`). */
  readonly encryptionKey: string | null
  /** Opens what an earlier key sealed, while keys are rotated. Null for none. */
  readonly encryptionKeyPrevious: string | null
  readonly allowedTargets: readonly AllowedTarget[]
  /** Null: webhooks go out directly. */
  readonly egressProxy: EgressProxy | null
  readonly retryScheduleSeconds: readonly number[]
  readonly maxAgeMs: number
  /** A failure disables an endpoint for which nothing has succeeded for so long. */
  readonly disableAfterMs: number
  /** Attempts in flight in this process. */
  readonly concurrency: number
  readonly retentionMs: number
  /** Null: as the database has it, 1 MiB unless an earlier start set another. */
  readonly maxPayloadBytes: number | null
  /** Whether only what is in the catalogue, and not archived, may be published over HTTP. */
  readonly strictEventTypes: boolean
  /** That one API key may make of one API process. 0 is no limit. */
  readonly requestsPerSecond: number
  /** Of one API process. */
  readonly maxConnections: number
  /** Pages of these origins may call the API. */
  readonly corsOrigins: readonly string[]
  /** A URL; `'off'` for no LISTEN; null for the embedded Postgres, whose URL is not known yet. */
  readonly listenUrl: string | null
  readonly logLevel: LogLevel
  /** One line each, for the log: names that look like settings and are none. */
  readonly warnings: readonly string[]
}

const maxDeliverAtMs = 30 * 86_400_000

/**
 * Reads the settings from an environment. An empty value counts as unset.
 * @throws ConfigError with one line about the first setting that is wrong or missing
 */
export function parseConfig(env: Readonly<Record<string, string | undefined>>, defaults: ConfigDefaults): Config {
  const set = givenIn(env, settings)
  checkRequired(set, defaults.role)
  if (set.POSTHORN_RETENTION <= set.POSTHORN_MAX_AGE + maxDeliverAtMs) {
    throw new ConfigError(
      'POSTHORN_RETENTION must be more than 30d (deliver_at) plus POSTHORN_MAX_AGE, or events would go before they are delivered',
    )
  }
  const databaseUrl = set.POSTHORN_DATABASE_URL ?? null
  return Object.freeze({
    role: defaults.role,
    databaseUrl,
    dataDir: resolve(defaults.folder, set.POSTHORN_DATA_DIR),
    host: set.POSTHORN_HOST,
    port: set.POSTHORN_PORT,
    healthPort: set.POSTHORN_HEALTH_PORT ?? null,
    apiKey: set.POSTHORN_API_KEY ?? null,
    encryptionKey: set.POSTHORN_ENCRYPTION_KEY ?? null,
    encryptionKeyPrevious: set.POSTHORN_ENCRYPTION_KEY_PREVIOUS ?? null,
    allowedTargets: Object.freeze(set.POSTHORN_ALLOWED_TARGETS.map((target) => Object.freeze(target))),
    egressProxy: set.POSTHORN_EGRESS_PROXY ? Object.freeze(set.POSTHORN_EGRESS_PROXY) : null,
    retryScheduleSeconds: Object.freeze(set.POSTHORN_RETRY_SCHEDULE),
    maxAgeMs: set.POSTHORN_MAX_AGE,
    disableAfterMs: set.POSTHORN_DISABLE_AFTER,
    concurrency: set.POSTHORN_CONCURRENCY,
    retentionMs: set.POSTHORN_RETENTION,
    maxPayloadBytes: set.POSTHORN_MAX_PAYLOAD_BYTES ?? null,
    strictEventTypes: set.POSTHORN_STRICT_EVENT_TYPES,
    requestsPerSecond: set.POSTHORN_REQUESTS_PER_SECOND,
    maxConnections: set.POSTHORN_MAX_CONNECTIONS,
    corsOrigins: Object.freeze(set.POSTHORN_CORS_ORIGINS),
    listenUrl: set.POSTHORN_LISTEN_URL ?? databaseUrl,
    logLevel: set.POSTHORN_LOG_LEVEL,
    warnings: Object.freeze(unknownNames(env)),
  })
}

function checkRequired(set: z.output<typeof settings>, role: Role): void {
  if (role !== 'start' && set.POSTHORN_DATABASE_URL === undefined) {
    throw new ConfigError(`POSTHORN_DATABASE_URL is required for "${role}": the URL of the Postgres to use`)
  }
  const ownDatabase = set.POSTHORN_DATABASE_URL !== undefined
  if (role !== 'migrate' && ownDatabase && set.POSTHORN_ENCRYPTION_KEY === undefined) {
    throw new ConfigError(
      'POSTHORN_ENCRYPTION_KEY is required with POSTHORN_DATABASE_URL: 32 random bytes in base64 (openssl rand -base64 32)',
    )
  }
}

/** Most such names are slips of the pen; they stop nothing, for they may belong to another program's Posthorn. */
function unknownNames(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env)
    .filter(
      (name) =>
        name.startsWith('POSTHORN_') &&
        !name.startsWith('POSTHORN_TEST_') &&
        !(name in settings.shape || name in clientSettings.shape),
    )
    .sort()
    .map((name) => `${JSON.stringify(name).slice(1, -1)} is not a setting of Posthorn and has no effect`)
}
