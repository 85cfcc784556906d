import { defineConfig } from 'prisma/config'

// The Prisma CLI looks for its schema engine at start-up and would download it, though only `migrate` and `db` run it.
// Naming any existing file stops the look-up for the other commands, so that `generate` works with no network.
const command = process.argv[2] ?? ''
if (command !== 'migrate' && command !== 'db') {
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= import.meta.filename
}

// The ledger of migrations stands in our schema, beside nothing of the product's.
const url = new URL(process.env['POSTHORN_DATABASE_URL'] ?? 'postgresql://localhost/posthorn')
url.searchParams.set('schema', 'posthorn')

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: url.href },
})
