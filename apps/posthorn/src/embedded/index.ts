export { readBinaries } from './binaries.ts'
export { EmbeddedPostgresError } from './embedded-postgres-error.ts'
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './start-embedded-postgres.ts'
