import type { Prisma } from '@posthorn/core/prisma'

/** A filter as it is kept: as it was given (JSON text), and the jsonpath that Postgres runs. */
export type EndpointFilter = { text: string; path: string }

/** Both in one statement, and so that one is never there without the other: Prisma cannot write a jsonpath. */
export async function setFilter(
  tx: Prisma.TransactionClient,
  endpointId: string,
  filter: EndpointFilter | null,
): Promise<void> {
  const { text, path } = filter ?? { text: null, path: null }
  await tx.$executeRaw`
    update posthorn.endpoint set filter = ${text}::text, filter_path = ${path}::text::jsonpath where id = ${endpointId}::uuid`
}
