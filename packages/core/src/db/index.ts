export { type MigrateOptions, MigrationError, migrate } from './migrate.ts'
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
