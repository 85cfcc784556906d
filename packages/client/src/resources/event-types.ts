import type { Caller, CallOptions } from '../call/call.ts'
import { createList } from '../call/list.ts'
import type { BodyOf, ListQuery } from '../call/operation.ts'

export type EventTypes = ReturnType<typeof createEventTypes>

export function createEventTypes(call: Caller) {
  return {
    /** Adds a type to the catalogue, or replaces what it says. */
    put: (name: string, values: BodyOf<'putEventType'> = {}, options?: CallOptions) =>
      call.json('putEventType', { path: { name }, body: values }, options),
    get: (name: string, options?: CallOptions) => call.json('getEventType', { path: { name } }, options),
    delete: (name: string, options?: CallOptions) =>
      call.json('deleteEventType', { path: { name }, removes: true }, options),
    /** Holds the last events of the type against a schema, and tells which would fail. Changes nothing. */
    check: (name: string, values: BodyOf<'checkEventType'>, options?: CallOptions) =>
      call.json('checkEventType', { path: { name }, body: values, repeatable: true }, options),
    list: (query?: ListQuery<'listEventTypes'>, options?: CallOptions) =>
      createList(call, 'listEventTypes', undefined, query, options),
  }
}
