import type { Caller, CallOptions } from '../call/call.ts'
import { createList } from '../call/list.ts'
import type { BodyOf, ListQuery } from '../call/operation.ts'

export type ApiKeys = ReturnType<typeof createApiKeys>

export function createApiKeys(call: Caller) {
  return {
    /** Makes a key. The answer alone has its token. */
    create: (values: BodyOf<'createApiKey'>, options?: CallOptions) =>
      call.json('createApiKey', { path: undefined, body: values }, options),
    list: (query?: ListQuery<'listApiKeys'>, options?: CallOptions) =>
      createList(call, 'listApiKeys', undefined, query, options),
    revoke: (key: string, options?: CallOptions) =>
      call.json('revokeApiKey', { path: { key }, removes: true }, options),
  }
}
