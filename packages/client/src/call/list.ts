import type { Caller, CallInput, CallOptions } from './call.ts'
import type { ItemOf, OperationId, PathOf } from './operation.ts'

export type Page<T> = { data: T[]; next_cursor: string | null }

/** A list, newest first. Nothing is asked before it is read, and no page before the former has been used up. */
export type List<T> = AsyncIterable<T> & {
  /** One page: the first, or the one behind `cursor`. */
  page(cursor?: string): Promise<Page<T>>
  /** Page by page. */
  pages(): AsyncIterable<Page<T>>
}

export function createList<O extends OperationId>(
  call: Caller,
  operation: O,
  path: PathOf<O>,
  query: object = {},
  options?: CallOptions,
): List<ItemOf<O>> {
  async function page(cursor?: string): Promise<Page<ItemOf<O>>> {
    const input: CallInput<O> = { path, query: cursor === undefined ? query : { ...query, cursor } }
    return (await call.json(operation, input, options)) as Page<ItemOf<O>>
  }
  async function* pages(): AsyncGenerator<Page<ItemOf<O>>> {
    let cursor: string | undefined
    do {
      const next = await page(cursor)
      yield next
      cursor = next.next_cursor ?? undefined
    } while (cursor !== undefined)
  }
  async function* items(): AsyncGenerator<ItemOf<O>> {
    for await (const each of pages()) yield* each.data
  }
  return { page, pages, [Symbol.asyncIterator]: items }
}
