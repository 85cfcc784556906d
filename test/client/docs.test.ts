import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = [
  'README.md',
  'docs/publishing.md',
  'docs/receiving.md',
  'docs/client.md',
  'docs/event-types.md',
  'packages/client/README.md',
]

/** What a reader has at hand, by the names that the pages use, where a block does not make it itself. */
const atHand: Record<string, string> = {
  id: 'number',
  secret: 'string',
  secrets: 'string[]',
  rawBody: 'Uint8Array',
  request: 'Request',
  posthorn: `import('@posthorn/client').Posthorn`,
  publish: `typeof import('@posthorn/client').publish`,
  webhook: `typeof import('@posthorn/client/express').webhook`,
  app: `import('express').Express`,
  client: `import('pg').Client`,
  sql: `import('postgres').Sql`,
  invoice: `typeof import('./tables.ts').invoice`,
  eq: `typeof import('drizzle-orm').eq`,
  Invoice: `typeof import('./tables.ts').Invoice`,
  dataSource: `import('typeorm').DataSource`,
  prisma: `import('./tables.ts').Prisma`,
}
const databases = {
  Drizzle: `import('drizzle-orm/node-postgres').NodePgDatabase`,
  Kysely: `import('kysely').Kysely<{ invoice: { id: number; paid_at: Date | null } }>`,
}

const tables = `
import type { PrismaClient } from '@posthorn/core/prisma'
import { integer, pgTable, timestamp } from 'drizzle-orm/pg-core'
export const invoice = pgTable('invoice', { id: integer().primaryKey(), paidAt: timestamp() })
export class Invoice { id!: number; paidAt!: Date | null }
type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0] & { invoice: { update(what: object): Promise<unknown> } }
export type Prisma = { $transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> }
`

test('every block of TypeScript in the pages on the client is what the compiler takes', async () => {
  const folder = await mkdtemp(join(root, 'test/client/.docs-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'src'))
  await writeFile(join(folder, 'src/tables.ts'), tables)
  let blocks = 0
  for (const page of pages) {
    const text = await readFile(join(root, page), 'utf8')
    for (const [, code = ''] of text.matchAll(/^```ts\n([\s\S]*?)^```/gm)) {
      blocks += 1
      const made = new Set([...code.matchAll(/(?:const|let|import) (?:\{[^}]*\}|\w+)/g)].join(' ').match(/\w+/g) ?? [])
      const declared = Object.entries({ ...atHand, db: /Kysely/.test(code) ? databases.Kysely : databases.Drizzle })
        .filter(([name]) => !made.has(name))
        .map(([name, type]) => `declare const ${name}: ${type}\n`)
      const name = `${page.replaceAll(/\W/g, '-')}-${blocks}.ts`
      await writeFile(join(folder, 'src', name), `${declared.join('')}${code}\nexport {}\n`)
    }
  }
  expect(blocks).toBeGreaterThan(15)
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }
  const config = { extends: '../../../tsconfig.base.json', compilerOptions, include: ['src'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  expect(stdout).toBe('')
})
