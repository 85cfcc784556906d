import type { Caller, CallOptions } from '../call/call.ts'
import type { BodyOf, QueryOf } from '../call/operation.ts'

export type Catalogue = ReturnType<typeof createCatalogue>

/** All event types in one document, for customers. */
export function createCatalogue(call: Caller) {
  return {
    /** As AsyncAPI 3. */
    asyncapi: (query: QueryOf<'getCatalogueAsyncapi'> = {}, options?: CallOptions) =>
      call.json('getCatalogueAsyncapi', { path: undefined, query }, options),
    /** As the `webhooks` of OpenAPI 3.1. */
    openapi: (query: QueryOf<'getCatalogueOpenapi'> = {}, options?: CallOptions) =>
      call.json('getCatalogueOpenapi', { path: undefined, query }, options),
    /**
     * Makes and changes types as a document of either kind describes them; others stay as they are. With `dry_run`, nothing but
     * the answer.
     */
    import: (document: object, query: QueryOf<'importCatalogue'> = {}, options?: CallOptions) =>
      call.json(
        'importCatalogue',
        { path: undefined, query, body: document as BodyOf<'importCatalogue'>, repeatable: true },
        options,
      ),
  }
}
