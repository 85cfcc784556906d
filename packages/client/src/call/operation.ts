import type { operations } from '../generated/openapi.ts'
import type { routes } from '../generated/routes.ts'

export type OperationId = keyof operations & keyof typeof routes

/** The parameters in an operation's path. */
export type PathOf<O extends OperationId> = operations[O]['parameters'] extends { path: infer P } ? P : undefined

/** The query that an operation takes. */
export type QueryOf<O extends OperationId> = NonNullable<operations[O]['parameters']['query']>

/** The JSON body that an operation takes. */
export type BodyOf<O extends OperationId> =
  NonNullable<operations[O]['requestBody']> extends { content: { 'application/json': infer B } } ? B : undefined

type Content<R> = R extends { content: { 'application/json': infer C } } ? C : undefined
type Responses<O extends OperationId> = operations[O]['responses']

/** What an operation answers when it was done. */
export type AnswerOf<O extends OperationId> = {
  [S in keyof Responses<O>]: S extends 200 | 201 | 202 | 204 ? Content<Responses<O>[S]> : never
}[keyof Responses<O>]

/** One of what a list answers. */
export type ItemOf<O extends OperationId> = AnswerOf<O> extends { data: (infer I)[] } ? I : never

/** What may be asked of a list. `limit` is the size of the pages that are read, not of the whole. */
export type ListQuery<O extends OperationId> = Omit<QueryOf<O>, 'cursor' | 'since' | 'until'> & {
  /** Events from then on, inclusive. */
  since?: string | Date
  /** Events before then. */
  until?: string | Date
}
