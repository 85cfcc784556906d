import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'

/** What Prisma's schema engine would do to make the database what a schema says, as SQL; empty when it is that already. */
export type DriftEngine = {
  diff(schema: string): Promise<string>
  close(): Promise<void>
}

type Engine = { diff(parameters: object): Promise<{ stdout: string | null }>; free(): void }
type EngineModule = {
  SchemaEngine: { new: (options: object, onLog: (line: string) => void, adapter: object) => Promise<Engine> }
  __wbg_set_wasm(exports: object): void
}
/** As much of the global as is used; the types of Node have none of it. */
type WebAssemblyGlobal = {
  WebAssembly: {
    instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, unknown> } }>
  }
}
type Adapter = Awaited<ReturnType<PrismaPg['connect']>>
type AdapterUtils = { bindMigrationAwareSqlAdapterFactory(factory: PrismaPg): object }

/** The oids of "char" and of text, and the adapters' code of the type that the engine reads "char" as. */
const charOid = 18
const textOid = 25
const characterType = 6 as Awaited<ReturnType<Adapter['queryRaw']>>['columnTypes'][number]

const file = 'schema.prisma'

/**
 * The engine of `prisma migrate diff`, as the WebAssembly that Prisma publishes, over its own driver adapter: the CLI's binary
 * would have to be downloaded. It reads the live database through `pool`.
 */
export async function startDriftEngine(connectionString: string, schema: string): Promise<DriftEngine> {
  const panics: string[] = []
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (message: string) => void panics.push(message) },
  })
  const glueUrl = import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const glue = (await import(glueUrl)) as EngineModule
  const wasm = await readFile(fileURLToPath(glueUrl.replace(/\.js$/, '.wasm')))
  const { WebAssembly } = globalThis as unknown as WebAssemblyGlobal
  const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': glue })
  glue.__wbg_set_wasm(instance.exports)
  const start = instance.exports['__wbindgen_start'] as () => void
  start()

  const pool = new pg.Pool({ connectionString, max: 2 })
  const resolve = createRequire(fileURLToPath(import.meta.resolve('@prisma/adapter-pg')))
  const utils = resolve('@prisma/driver-adapter-utils') as AdapterUtils
  const adapter = utils.bindMigrationAwareSqlAdapterFactory(adapterOf(pool))
  const engine = await glue.SchemaEngine.new({ datamodels: [[file, schema]] }, () => undefined, adapter)
  return {
    async diff(to) {
      const { stdout } = await engine.diff({
        from: { tag: 'schemaDatasource', files: [{ path: file, content: schema }], configDir: '.' },
        to: { tag: 'schemaDatamodel', files: [{ path: file, content: to }] },
        script: true,
        shadowDatabaseUrl: null,
        exitCode: true,
        filters: { externalTables: [], externalEnums: [] },
      })
      if (panics.length > 0 || stdout === null) throw new Error(`the schema engine failed: ${panics.join('\n')}`)
      return stdout.replace('-- This is an empty migration.', '').trim()
    },
    async close() {
      engine.free()
      await pool.end()
    },
  }
}

/** The adapter knows no "char", in which the catalogue keeps its codes: it is read as text, and told as a character. */
function adapterOf(pool: pg.Pool): PrismaPg {
  const charsOf = new WeakMap<unknown[], number[]>()
  const query = pool.query.bind(pool) as (...of: unknown[]) => Promise<pg.QueryResult>
  const queryNotingChars = async (...of: unknown[]): Promise<pg.QueryResult> => {
    const result = await query(...of)
    const chars: number[] = []
    for (const [at, field] of result.fields.entries()) {
      if (field.dataTypeID !== charOid) continue
      field.dataTypeID = textOid
      chars.push(at)
    }
    charsOf.set(result.rows, chars)
    return result
  }
  Object.assign(pool, { query: queryNotingChars })
  const factory = new PrismaPg(pool, { schema: 'posthorn' })
  const connect = factory.connect.bind(factory)
  factory.connect = async () => {
    const adapter = await connect()
    const queryRaw = adapter.queryRaw.bind(adapter)
    adapter.queryRaw = async (of) => {
      const result = await queryRaw(of)
      for (const at of charsOf.get(result.rows) ?? []) result.columnTypes[at] = characterType
      return result
    }
    return adapter
  }
  return factory
}
