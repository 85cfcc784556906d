import { defineConfig } from 'prisma/config'

// Only `generate` is run here, which needs no schema engine: naming any file stops its download.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= import.meta.filename

export default defineConfig({ schema: 'schema.prisma' })
