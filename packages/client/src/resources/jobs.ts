import type { Caller, CallOptions } from '../call/call.ts'

export type Jobs = ReturnType<typeof createJobs>

export function createJobs(call: Caller) {
  return {
    /** How far it is. */
    get: (job: string, options?: CallOptions) => call.json('getJob', { path: { job } }, options),
    /** What it has done stays done; nothing is added. */
    stop: (job: string, options?: CallOptions) => call.json('stopJob', { path: { job } }, options),
  }
}
