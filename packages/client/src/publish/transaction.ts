import { PosthornError } from '../errors.ts'

/*
 * What publishing needs of a transaction: to run one statement with text values and hand back its rows. `pg` and TypeORM have
 * just that; of the others, the method that does the same is known by its shape, so that this package needs none of them.
 */

/** `pg` clients, TypeORM query runners and entity managers, and whatever of yours has this method. */
export type QueryTransaction = { query(text: string, values: (string | null)[]): PromiseLike<unknown> }
/** Prisma: what `$transaction` hands to its callback. */
export type PrismaTransaction = { $queryRawUnsafe(text: string, ...values: (string | null)[]): PromiseLike<unknown> }
/** postgres.js: what `sql.begin` hands to its callback. */
// biome-ignore lint/suspicious/noExplicitAny: its own type of a value takes more than text
export type PostgresJsTransaction = { unsafe(text: string, values: any[]): PromiseLike<unknown> }
/** Kysely: what `transaction().execute` hands to its callback. */
// biome-ignore lint/suspicious/noExplicitAny: a compiled query, which is made here without Kysely
export type KyselyTransaction = { executeQuery(query: any): PromiseLike<unknown>; isTransaction: boolean }
/** Drizzle: what `transaction` hands to its callback. */
export type DrizzleTransaction = { execute(text: string): PromiseLike<unknown>; rollback(): never }

export type Transaction =
  | QueryTransaction
  | PrismaTransaction
  | PostgresJsTransaction
  | KyselyTransaction
  | DrizzleTransaction

/** Runs the statement in the transaction. @returns its first row @throws PosthornError `not_a_transaction` */
export async function firstRow(tx: Transaction, text: string, values: (string | null)[]): Promise<unknown> {
  const result = await run(tx as Partial<Record<string, unknown>>, text, values)
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown[] } | null)?.rows
  return rows?.[0]
}

type Shape = Partial<Record<string, unknown>>

function run(tx: Shape, text: string, values: (string | null)[]): PromiseLike<unknown> {
  const outside = whyOutside(tx)
  if (outside !== null) throw new PosthornError(`publish: ${outside}`, { code: 'not_a_transaction' })
  if (has(tx, '$queryRawUnsafe')) return (tx as PrismaTransaction).$queryRawUnsafe(text, ...values)
  if (has(tx, 'unsafe')) return (tx as PostgresJsTransaction).unsafe(text, values)
  if (has(tx, 'executeQuery')) return (tx as KyselyTransaction).executeQuery(compiled(text, values))
  if (has(tx, 'execute')) return (tx as DrizzleTransaction).execute(withLiterals(text, values))
  if (has(tx, 'query')) return (tx as QueryTransaction).query(text, values)
  const message =
    'publish: this is no transaction that is known: it needs `query(text, values)`, which answers the rows'
  throw new PosthornError(message, { code: 'not_a_transaction' })
}

/** Whatever commits by itself, at once and on some connection, would break the promise: it is refused where it can be told. */
function whyOutside(tx: Shape): string | null {
  if (tx === null || (typeof tx !== 'object' && typeof tx !== 'function')) return 'give it the transaction first'
  if (has(tx, '$queryRawUnsafe'))
    return has(tx, '$connect') ? 'give it the `tx` of `prisma.$transaction`, not the client' : null
  if (has(tx, 'unsafe'))
    return has(tx, 'begin') ? 'give it the `sql` that `sql.begin` hands out, not the outer one' : null
  if (has(tx, 'executeQuery'))
    return tx['isTransaction'] === true ? null : 'give it the `trx` of `db.transaction()`, not `db`'
  if (has(tx, 'execute')) return has(tx, 'rollback') ? null : 'give it the `tx` of `db.transaction`, not `db`'
  if (tx['isTransactionActive'] === false) return 'the query runner has no transaction: call startTransaction() first'
  if (has(tx, 'createQueryRunner'))
    return 'give it a query runner or a transactional entity manager, not the data source'
  const runner = tx['queryRunner'] as Shape | null | undefined
  if (has(tx, 'getRepository') && runner?.['isTransactionActive'] !== true) {
    return 'give it the manager that `transaction` hands out, not that of the data source'
  }
  if (has(tx, 'query') && typeof tx['totalCount'] === 'number') return 'give it a client that has begun, not the pool'
  return null
}

function has(tx: Shape, method: string): boolean {
  return typeof tx[method] === 'function'
}

/** A query as Kysely's `CompiledQuery.raw` makes it. */
function compiled(sql: string, parameters: (string | null)[]) {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
  return { sql, parameters, query, queryId: { queryId: crypto.randomUUID() } }
}

/**
 * The statement with its values in it, for Drizzle, which takes text alone unless its own `sql` is at hand. Each value stands
 * as base64, whose letters can end no literal.
 */
function withLiterals(text: string, values: (string | null)[]): string {
  return text.replace(/\$(\d+)::text/g, (_, place: string) => {
    const value = values[Number(place) - 1] ?? null
    return value === null ? 'null::text' : `convert_from(decode('${base64(value)}', 'base64'), 'UTF8')`
  })
}

function base64(text: string): string {
  let binary = ''
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}
