import type { Pool } from '@posthorn/core/db'
import { type CatalogueType, readCatalogue, readCatalogueVersion, readEventTypeSchema } from '@posthorn/core/sql'
import type { CompiledSchema, SchemaCompiler } from './schema/compile.ts'

/** How old what is known of the catalogue may be when a publish is checked. */
const maxAgeMs = 1_000
/** Compiled schemas that are kept; past it those go that were compiled first. */
const maxCompiled = 1_000
/** What changes between two reads is read again so often. */
const maxReads = 10

export type KnownType = {
  archived: boolean
  /** Null: any payload. */
  schema: CompiledSchema | null
}

export type LiveCatalogue = {
  /** A type as it is known now; undefined when it is not in the catalogue, null when `read` must be awaited first. */
  look(name: string): KnownType | undefined | null
  /** Reads what must be known of these, so that each can be looked at. @throws what Postgres says */
  read(names: ReadonlySet<string>): Promise<void>
  /** The catalogue was changed by this process: whoever asks from now on sees it. Call it after the commit. */
  changed(): void
}

export type LiveCatalogueOptions = {
  pool: Pool
  compiler: SchemaCompiler
  /** Monotonic. */
  nowMs?: () => number
}

type Compiled = { hash: string; schema: CompiledSchema }

/**
 * The catalogue as publishes are checked against it: kept in memory, each schema compiled once for each version of it.
 *
 * Invariants
 *   - What an answer rests on was read less than a second before it was asked for, and after every change that this process
 *     had been told of by then. A read is as old as its beginning.
 *   - A compiled schema is known by the hash of its text, so that one which was deleted and made again is never taken for another.
 *   - While nobody publishes, nothing is read. While all publish, the version alone is, once a second, by one of them.
 */
export function createLiveCatalogue({
  pool,
  compiler,
  nowMs = () => performance.now(),
}: LiveCatalogueOptions): LiveCatalogue {
  let version: string | undefined
  let types = new Map<string, CatalogueType>()
  let readAtMs = Number.NEGATIVE_INFINITY
  let changes = 0
  let reading: Promise<void> | undefined
  const compiled = new Map<string, Compiled>()
  const compiling = new Map<string, Promise<Compiled | null>>()

  function isFresh(): boolean {
    return nowMs() - readAtMs < maxAgeMs
  }

  async function read(): Promise<void> {
    const began = nowMs()
    const before = changes
    if ((await readCatalogueVersion(pool)) !== version) {
      const catalogue = await readCatalogue(pool)
      version = catalogue.version
      types = catalogue.types
      for (const name of compiled.keys()) if (!types.has(name)) compiled.delete(name)
    }
    // One that was begun before a change may not have seen it.
    if (before === changes) readAtMs = began
  }

  async function refresh(): Promise<void> {
    while (!isFresh()) {
      reading ??= read().finally(() => {
        reading = undefined
      })
      await reading
    }
  }

  async function compile(name: string): Promise<Compiled | null> {
    const row = await readEventTypeSchema(pool, name)
    if (row === null) return null
    const schema = compiler.compile(row.schema)
    if (Array.isArray(schema)) throw new Error(`the schema of ${name} cannot be compiled: ${JSON.stringify(schema[0])}`)
    const made = { hash: row.schemaHash, schema }
    compiled.delete(name)
    compiled.set(name, made)
    if (compiled.size > maxCompiled) compiled.delete(compiled.keys().next().value!)
    return made
  }

  function compileOnce(name: string): Promise<Compiled | null> {
    const under = compiling.get(name)
    if (under !== undefined) return under
    const work = compile(name).finally(() => compiling.delete(name))
    compiling.set(name, work)
    return work
  }

  function look(name: string): KnownType | undefined | null {
    if (!isFresh()) return null
    const type = types.get(name)
    if (type === undefined) return undefined
    if (type.schemaHash === null) return { archived: type.archived, schema: null }
    const made = compiled.get(name)
    return made?.hash === type.schemaHash ? { archived: type.archived, schema: made.schema } : null
  }

  return {
    look,
    async read(names) {
      for (let reads = 0; reads < maxReads; reads++) {
        await refresh()
        const unknown = [...names].filter((name) => look(name) === null)
        if (unknown.length === 0) return
        for (const name of unknown) {
          const made = await compileOnce(name)
          // What was read last is the newest, and the list may be behind it.
          if (made?.hash !== types.get(name)?.schemaHash) readAtMs = Number.NEGATIVE_INFINITY
        }
      }
      throw new Error('the catalogue changes too fast')
    },
    changed() {
      changes++
      readAtMs = Number.NEGATIVE_INFINITY
    },
  }
}
