import type { Caller, CallOptions } from '../call/call.ts'
import { createList } from '../call/list.ts'
import type { BodyOf, ListQuery, QueryOf } from '../call/operation.ts'

export type Endpoints = ReturnType<typeof createEndpoints>

/** How long the API itself waits for a test's attempt, and some more. */
const testTimeoutMs = 45_000

/** `endpoint` is its id (`ep_...`) or its `uid`. */
export function createEndpoints(call: Caller) {
  return {
    /** Registers an endpoint. The answer has its secret. With a `uid`, a second of the same name is refused. */
    create: (tenant: string, endpoint: BodyOf<'createEndpoint'>, options?: CallOptions) =>
      call.json('createEndpoint', { path: { tenant }, body: endpoint }, options),
    list: (tenant: string, query?: ListQuery<'listEndpoints'>, options?: CallOptions) =>
      createList(call, 'listEndpoints', { tenant }, query, options),
    get: (tenant: string, endpoint: string, options?: CallOptions) =>
      call.json('getEndpoint', { path: { tenant, endpoint } }, options),
    /** Replaces each field that is named; null sets its default. */
    update: (tenant: string, endpoint: string, changes: BodyOf<'updateEndpoint'>, options?: CallOptions) =>
      call.json('updateEndpoint', { path: { tenant, endpoint }, body: changes }, options),
    /** What it was owed is canceled. */
    delete: (tenant: string, endpoint: string, options?: CallOptions) =>
      call.json('deleteEndpoint', { path: { tenant, endpoint }, removes: true }, options),
    /** The secrets that sign now. */
    secret: (tenant: string, endpoint: string, options?: CallOptions) =>
      call.json('getEndpointSecret', { path: { tenant, endpoint } }, options),
    /** A new secret; the old one signs too until its grace has ended, a day if not said otherwise. */
    rotateSecret: (
      tenant: string,
      endpoint: string,
      values: BodyOf<'rotateEndpointSecret'> = {},
      options?: CallOptions,
    ) => call.json('rotateEndpointSecret', { path: { tenant, endpoint }, body: values }, options),
    stats: (tenant: string, endpoint: string, query: QueryOf<'getEndpointStats'> = {}, options?: CallOptions) =>
      call.json('getEndpointStats', { path: { tenant, endpoint }, query, repeatable: true }, options),
    /** Owes it again what failed, was canceled or was missed: a job. With `dry_run`, the counts and no more. */
    recover: (tenant: string, endpoint: string, values: BodyOf<'recoverEndpoint'>, options?: CallOptions) =>
      call.json('recoverEndpoint', { path: { tenant, endpoint }, body: values }, options),
    /** Whether a sample, or each of the last events, would be owed to it, and why not. */
    matches: (tenant: string, endpoint: string, question: BodyOf<'matchEndpoint'>, options?: CallOptions) =>
      call.json('matchEndpoint', { path: { tenant, endpoint }, body: question, repeatable: true }, options),
    /** Sends a test event, and waits for its first attempt: the attempt, or the delivery if it takes longer than 30 s. */
    test: (tenant: string, endpoint: string, values: BodyOf<'testEndpoint'> = {}, options?: CallOptions) =>
      call.json('testEndpoint', { path: { tenant, endpoint }, body: values }, { timeoutMs: testTimeoutMs, ...options }),
  }
}
