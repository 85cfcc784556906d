import type { Page, Posthorn } from '@posthorn/client'
import { NotFoundError } from './not-found-error.ts'

/**
 * A list of what is a tenant's. The API has an empty one for a tenant that is not there, for the first publish makes it; here it
 * was rather mistyped. Only where nothing is found is the tenant asked after.
 * @param orElse what else may have been meant, told behind it
 * @throws NotFoundError
 */
export async function* listOfTenant<T>(
  client: Posthorn,
  tenant: string,
  pages: AsyncIterable<Page<T>>,
  orElse = '',
): AsyncGenerator<Page<T>> {
  let found = false
  try {
    for await (const page of pages) {
      found ||= page.data.length > 0
      yield page
    }
  } catch (error) {
    if (isNotFound(error)) await mustBeThere(client, tenant, orElse)
    throw error
  }
  if (!found) await mustBeThere(client, tenant, orElse)
}

async function mustBeThere(client: Posthorn, tenant: string, orElse: string): Promise<void> {
  try {
    await client.tenants.get(tenant)
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new NotFoundError(
      `there is no tenant ${tenant}: \`posthorn tenants\` lists those there are, and the first publish or endpoint makes one${orElse}`,
    )
  }
}

function isNotFound(error: unknown): boolean {
  return (error as { status?: unknown }).status === 404
}
