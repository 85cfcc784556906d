import type { Queryable } from '../db/pool.ts'

// Counted by a trigger in the transaction of each change.
const versionText = `
select s.value as "version" from posthorn.setting s where s.name = 'catalogue_version'`

// One snapshot: what is listed is what the version counts.
const catalogueText = `
select s.value as "version", t.name as "name", t.archived as "archived",
       encode(sha256(convert_to(t.schema::text, 'UTF8')), 'base64') as "schemaHash"
from posthorn.setting s left join posthorn.event_type t on true
where s.name = 'catalogue_version'`

const schemaText = `
select t.schema as "schema", encode(sha256(convert_to(t.schema::text, 'UTF8')), 'base64') as "schemaHash"
from posthorn.event_type t where t.name = $1`

/** A type of the catalogue, without its schema. */
export type CatalogueType = {
  archived: boolean
  /** Names the schema as it is now; null for none. */
  schemaHash: string | null
}

/** What changes with each change of the catalogue. */
export async function readCatalogueVersion(queryable: Queryable): Promise<string> {
  const { rows } = await queryable.query<{ version: string }>({ name: 'catalogue-version', text: versionText })
  return rows[0]!.version
}

/** All types by their names, and the version that this is. */
export async function readCatalogue(
  queryable: Queryable,
): Promise<{ version: string; types: Map<string, CatalogueType> }> {
  const { rows } = await queryable.query<CatalogueType & { version: string; name: string | null }>({
    name: 'catalogue',
    text: catalogueText,
  })
  const types = new Map<string, CatalogueType>()
  for (const { name, archived, schemaHash } of rows) if (name !== null) types.set(name, { archived, schemaHash })
  return { version: rows[0]!.version, types }
}

/** A type's schema as it is now; null when there is no such type, or it has none. */
export async function readEventTypeSchema(
  queryable: Queryable,
  name: string,
): Promise<{ schema: Record<string, unknown>; schemaHash: string } | null> {
  const { rows } = await queryable.query<{ schema: Record<string, unknown> | null; schemaHash: string }>({
    name: 'event-type-schema',
    text: schemaText,
    values: [name],
  })
  const row = rows[0]
  return row === undefined || row.schema === null ? null : { schema: row.schema, schemaHash: row.schemaHash }
}
