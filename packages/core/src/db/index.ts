export { type MigrateOptions, MigrationError, migrate } from './migrate.ts'
export { type MigrationState, readMigrationState } from './migration-state.ts'
export {
  createClient,
  createPool,
  type Pool,
  type PoolClient,
  type PoolOptions,
  type Queryable,
  transaction,
} from './pool.ts'
export { isDatabaseUnavailable } from './unavailable.ts'
