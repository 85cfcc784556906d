import { randomBytes } from 'node:crypto'
import { migrate } from '@posthorn/core/db'
import pg from 'pg'

/** The names of a run's databases begin with this, so that its end can drop them all. */
export type Template = { prefix: string; name: string }

/** Makes the database, migrated once a run, from which each test file's is copied. */
export async function createTemplate(adminUrl: string): Promise<Template> {
  const prefix = `posthorn_test_${randomBytes(5).toString('hex')}_`
  const name = `${prefix}template`
  // The server's own template1 may have another encoding.
  await admin(adminUrl, `create database ${name} template template0 encoding 'UTF8'`)
  await migrate({ connectionString: databaseUrl(adminUrl, name) })
  return { prefix, name }
}

/** Drops the template and every database that a test file left. */
export async function dropDatabases(adminUrl: string, { prefix }: Template): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [prefix],
    )
    for (const { datname } of rows) await client.query(`drop database if exists ${datname} with (force)`)
  } finally {
    await client.end()
  }
}

/** Runs one statement that cannot be in a transaction. */
export async function admin(adminUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}
