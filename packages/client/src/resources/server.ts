import type { Caller, CallOptions } from '../call/call.ts'

export type Server = ReturnType<typeof createServer>

export function createServer(call: Caller) {
  return {
    /** Does it answer at all? */
    health: (options?: CallOptions) => call.json('getHealth', { path: undefined }, options),
    /** Can it serve, and if not, why? Not ready is an answer, and no error. */
    readiness: (options?: CallOptions) => call.json('getReadiness', { path: undefined, alsoTakes: 503 }, options),
    /** The contract of the server, OpenAPI 3.1. */
    openapi: (options?: CallOptions) => call.json('getOpenapi', { path: undefined }, options),
  }
}
