import { defineConfig } from 'prisma/config'

// The Prisma CLI looks for its schema engine at start-up and would download it, though only `migrate` and `db` run it.
// Naming any existing file stops the look-up for the other commands, so that `generate` works with no network.
const command = process.argv[2] ?? ''
if (command !== 'migrate' && command !== 'db') {
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= import.meta.filename
}

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env['POSTHORN_DATABASE_URL'] ?? 'postgresql://localhost/posthorn' },
})
