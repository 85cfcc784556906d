import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { admin, databaseUrl } from './template.ts'

export type TestDatabase = {
  /** Its connection string, as superuser. */
  url: string
  /** Cuts off whoever is still connected, and drops it. Idempotent. */
  drop(): Promise<void>
}

/**
 * A migrated database for one test file, on the server of this run (see shared-server.ts): a copy of a template, made in
 * some 50 ms.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl')
  const template = inject('template')
  const name = template.prefix + randomBytes(6).toString('hex')
  await admin(adminUrl, `create database ${name} template ${template.name}`)
  return {
    url: databaseUrl(adminUrl, name),
    drop: () => admin(adminUrl, `drop database if exists ${name} with (force)`),
  }
}
