import type { Options } from './options.ts'

/**
 * What a release is measured with, in this order, each at its size; the scenario's own where none is said. Drains of one
 * number of endpoints are within `drain-endpoints`.
 */
export const releaseRuns: readonly { name: string; sizes?: Partial<Pick<Options, 'deliveries' | 'seconds'>> }[] = [
  { name: 'drain-endpoints', sizes: { deliveries: 200_000 } },
  { name: 'steady' },
  { name: 'steady-single' },
  { name: 'accept' },
  { name: 'accept-batch-100' },
  { name: 'accept-checked' },
  { name: 'latency', sizes: { seconds: 60 } },
  { name: 'memory', sizes: { deliveries: 200_000 } },
  { name: 'idle', sizes: { seconds: 60 } },
  { name: 'isolation' },
  { name: 'claim-blocked' },
  { name: 'claim-settle' },
  { name: 'claim-many' },
  // Forty times that: ten million.
  { name: 'backlog', sizes: { deliveries: 250_000 } },
  { name: 'held' },
  { name: 'recovery' },
  { name: 'ordering' },
  { name: 'ordering-claim' },
  { name: 'filters' },
]
