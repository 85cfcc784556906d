export { readBinaries } from './binaries.ts'
export { type EmbeddedPostgres, startEmbeddedPostgres } from './start-embedded-postgres.ts'
