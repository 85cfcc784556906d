import { type Caller, type CallOptions, JsonText } from '../call/call.ts'
import { createList } from '../call/list.ts'
import type { AnswerOf, ListQuery } from '../call/operation.ts'
import { checkIdempotencyKey, eventText, type PublishEvent } from '../publish/event.ts'

export type Events = ReturnType<typeof createEvents>

export type PublishOptions = CallOptions & {
  /**
   * 1 to 255 characters of printable ASCII, for what happens once in your product, such as `inv-1042-paid`: the same call,
   * from wherever, publishes once. Without it each call makes a key of its own, so that its retries do not double.
   */
  idempotencyKey?: string
}

/** An event as it was published. `replayed`: it had been before, under the same key. */
export type PublishedEvent = AnswerOf<'publishEvent'> & { replayed: boolean }

export function createEvents(call: Caller) {
  return {
    /** Publishes one event. Once this has resolved it is committed, and owed to every endpoint that takes it. */
    async publish(tenant: string, event: PublishEvent, options: PublishOptions = {}): Promise<PublishedEvent> {
      const input = { path: { tenant }, body: new JsonText(eventText(event)), ...keyed(options) }
      const { value, headers } = await call.full('publishEvent', input, options)
      return { ...value, replayed: wasReplayed(headers) }
    },
    /** Publishes up to 1,000 events, 16 MiB in all: all or none. The idempotency key covers the whole call. */
    async publishBatch(
      tenant: string,
      events: readonly PublishEvent[],
      options: PublishOptions = {},
    ): Promise<PublishedEvent[]> {
      const texts = events.map((event, place) => eventText(event, `/events/${place}`))
      const input = { path: { tenant }, body: new JsonText(`{"events":[${texts.join(',')}]}`), ...keyed(options) }
      const { value, headers } = await call.full('publishEventBatch', input, options)
      const replayed = wasReplayed(headers)
      return value.data.map((event) => ({ ...event, replayed }))
    },
    list: (tenant: string, query?: ListQuery<'listEvents'>, options?: CallOptions) =>
      createList(call, 'listEvents', { tenant }, query, options),
    /** With its payload, as JavaScript reads it. */
    get: (tenant: string, event: string, options?: CallOptions) =>
      call.json('getEvent', { path: { tenant, event } }, options),
    /** The payload's very bytes, as they were published and are sent. */
    payload: (tenant: string, event: string, options?: CallOptions) =>
      call.bytes('getEventPayload', { path: { tenant, event } }, options),
    /** Where it went. */
    deliveries: (tenant: string, event: string, query?: ListQuery<'listEventDeliveries'>, options?: CallOptions) =>
      createList(call, 'listEventDeliveries', { tenant, event }, query, options),
  }
}

// One key for all the tries of a call.
function keyed({ idempotencyKey = crypto.randomUUID() }: PublishOptions) {
  checkIdempotencyKey(idempotencyKey)
  return { headers: { 'idempotency-key': idempotencyKey }, repeatable: true }
}

function wasReplayed(headers: Headers): boolean {
  return headers.get('idempotent-replayed') === 'true'
}
