import type { Caller, CallOptions } from '../call/call.ts'
import { createList } from '../call/list.ts'
import type { BodyOf, ListQuery } from '../call/operation.ts'

export type Tenants = ReturnType<typeof createTenants>

export function createTenants(call: Caller) {
  return {
    /** Creates a tenant, or replaces its name and metadata. Publishing for a new tenant makes it as well. */
    put: (tenant: string, values: BodyOf<'putTenant'> = {}, options?: CallOptions) =>
      call.json('putTenant', { path: { tenant }, body: values }, options),
    get: (tenant: string, options?: CallOptions) => call.json('getTenant', { path: { tenant } }, options),
    /** Deletes it with all that it owns: gone at once, and a job clears up. */
    delete: (tenant: string, options?: CallOptions) =>
      call.json('deleteTenant', { path: { tenant }, repeatable: false }, options),
    list: (query?: ListQuery<'listTenants'>, options?: CallOptions) =>
      createList(call, 'listTenants', undefined, query, options),
  }
}
