/**
 * What Posthorn's apps share and no database is needed for: names and ids, signing, backoff, the envelope's reader, the
 * vault, settings and the log. `@posthorn/core/db` and `@posthorn/core/sql` are the parts that talk to Postgres, and
 * `@posthorn/core/prisma` the control plane's client, which the dispatcher never loads.
 */
export * from './backoff/index.ts'
export * from './breaker/index.ts'
export * from './config/index.ts'
export * from './domain/index.ts'
export * from './filter/index.ts'
export * from './json/index.ts'
export * from './rate/index.ts'
export * from './signing/index.ts'
export * from './target/index.ts'
export { createLog, type Log, type LogLevel, logLevels } from './telemetry/log.ts'
export { createVault, keyIdOf, type Vault, VaultError } from './vault/vault.ts'
