import type { Caller, CallOptions } from '../call/call.ts'
import { createList } from '../call/list.ts'
import type { ListQuery } from '../call/operation.ts'

export type Deliveries = ReturnType<typeof createDeliveries>

/** A delivery is named by its event's id and its endpoint's id or `uid`. */
export function createDeliveries(call: Caller) {
  return {
    /** By `endpoint_id`, `state` and `event_type`. */
    list: (tenant: string, query?: ListQuery<'listDeliveries'>, options?: CallOptions) =>
      createList(call, 'listDeliveries', { tenant }, query, options),
    get: (tenant: string, event: string, endpoint: string, options?: CallOptions) =>
      call.json('getDelivery', { path: { tenant, event, endpoint } }, options),
    attempts: (
      tenant: string,
      event: string,
      endpoint: string,
      query?: ListQuery<'listAttempts'>,
      options?: CallOptions,
    ) => createList(call, 'listAttempts', { tenant, event, endpoint }, query, options),
    /** Owes it again, now. */
    redeliver: (tenant: string, event: string, endpoint: string, options?: CallOptions) =>
      call.json('redeliverDelivery', { path: { tenant, event, endpoint } }, options),
    /** Stops owing it. */
    cancel: (tenant: string, event: string, endpoint: string, options?: CallOptions) =>
      call.json('cancelDelivery', { path: { tenant, event, endpoint }, repeatable: true }, options),
  }
}
