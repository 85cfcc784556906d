import { publish } from '@posthorn/client'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.ts'

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] }) })
// In a product, by a migration.
await prisma.$executeRaw`create table if not exists prisma_invoice (id integer primary key, paid_at timestamptz)`
await prisma.invoice.createMany({ data: [{ id: 1042 }, { id: 1043 }], skipDuplicates: true })

/** Pays an invoice and publishes that it was paid: both, or neither. */
async function pay(id: number, failing = false): Promise<string> {
  return prisma.$transaction(async (tx) => {
    await tx.invoice.update({ where: { id }, data: { paidAt: new Date() } })
    const event = await publish(
      tx,
      'acme',
      { type: 'invoice.paid', payload: { id, from: 'prisma' } },
      { idempotencyKey: `prisma-${id}-paid` },
    )
    if (failing) throw new Error('the card was refused')
    return event
  })
}

process.stdout.write(`published ${await pay(1042)}\n`)
await pay(1043, true).catch(() => process.stdout.write('rolled back\n'))
await prisma.$disconnect()
