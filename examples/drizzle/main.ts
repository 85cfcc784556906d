import { publish } from '@posthorn/client'
import { eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, timestamp } from 'drizzle-orm/pg-core'
import pg from 'pg'

const invoice = pgTable('drizzle_invoice', {
  id: integer().primaryKey(),
  paidAt: timestamp('paid_at', { withTimezone: true }),
})

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
const db = drizzle(pool)
await db.execute(sql`create table if not exists drizzle_invoice (id integer primary key, paid_at timestamptz)`)
await db
  .insert(invoice)
  .values([{ id: 1042 }, { id: 1043 }])
  .onConflictDoNothing()

/** Pays an invoice and publishes that it was paid: both, or neither. */
async function pay(id: number, failing = false): Promise<string> {
  return db.transaction(async (tx) => {
    await tx.update(invoice).set({ paidAt: new Date() }).where(eq(invoice.id, id))
    const event = await publish(
      tx,
      'acme',
      { type: 'invoice.paid', payload: { id, from: 'drizzle' } },
      { idempotencyKey: `drizzle-${id}-paid` },
    )
    if (failing) tx.rollback()
    return event
  })
}

process.stdout.write(`published ${await pay(1042)}\n`)
await pay(1043, true).catch(() => process.stdout.write('rolled back\n'))
await pool.end()
