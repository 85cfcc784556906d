import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/client.ts'
import { sessionSettings } from './session.ts'

export type { PrismaClient } from './generated/client.ts'
export { Prisma } from './generated/client.ts'

/** The control plane's client: tenants, endpoints, event types, keys and their lists. The data path does not use it. */
export function createPrisma(connectionString: string, options: { max?: number } = {}): PrismaClient {
  const adapter = new PrismaPg(
    {
      connectionString,
      max: options.max ?? 5,
      application_name: 'posthorn control',
      connectionTimeoutMillis: 5_000,
      query_timeout: 20_000,
      onConnect: async (client) => {
        await client.query(sessionSettings(15_000))
      },
      keepAlive: true,
    },
    { schema: 'posthorn', onPoolError: () => {}, onConnectionError: () => {} },
  )
  return new PrismaClient({ adapter, log: [] })
}
