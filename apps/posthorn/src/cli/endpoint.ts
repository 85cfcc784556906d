import type { components } from '@posthorn/client'
import type { Column, Output, Style } from './output.ts'
import { printable } from './output.ts'

export type Endpoint = components['schemas']['Endpoint']
type Stats = components['schemas']['Stats']

const styles: Record<Endpoint['status'], Style> = { enabled: 'good', paused: 'doubtful', disabled: 'bad' }

function statusOf({ status, disabled_reason }: Endpoint): string {
  return disabled_reason === null ? status : `${status} (${disabled_reason})`
}

export const endpointColumns: readonly Column<Endpoint>[] = [
  { name: 'ENDPOINT', of: ({ id }) => id },
  { name: 'UID', of: ({ uid }) => uid ?? '' },
  { name: 'STATUS', of: statusOf, style: ({ status }) => styles[status] },
  { name: 'TYPES', of: ({ event_types }) => event_types?.join(',') ?? 'all' },
  { name: 'URL', of: ({ url }) => url },
]

/** An endpoint and how it does, a line for each. */
export function describeEndpoint(endpoint: Endpoint, stats: Stats, out: Output): string {
  const { backlog, lane, latency_ms: latency } = stats
  const attempts =
    stats.success_rate === null
      ? 'none made'
      : `${(stats.success_rate * 100).toFixed(1)} % of ${stats.attempts} succeeded`
  const owed = `${backlog.pending} pending, ${backlog.scheduled} scheduled, ${backlog.in_flight} in flight`
  const rows: [string, string][] = [
    ['endpoint', endpoint.id],
    ['uid', endpoint.uid ?? 'none'],
    ['url', endpoint.url],
    ['status', out.style(styles[endpoint.status], statusOf(endpoint))],
    ['types', endpoint.event_types?.join(', ') ?? 'all'],
    ['ordering', endpoint.ordering],
    ['attempts', `${attempts} since ${stats.since}`],
    ['latency', latency === null ? 'none' : `p50 ${latency.p50} ms, p95 ${latency.p95} ms, p99 ${latency.p99} ms`],
    ['owed', stats.oldest_due_at === null ? owed : `${owed}; the oldest due since ${stats.oldest_due_at}`],
    ['lane', lane.blocked_until === null ? 'open' : out.style('bad', `blocked until ${lane.blocked_until}`)],
    ['failures', `${lane.failures_in_a_row} in a row`],
  ]
  // The styles are ours; what an endpoint's owner wrote stands in the others.
  return rows.map(([name, value]) => `${name.padEnd(9)} ${name === 'url' ? printable(value) : value}`).join('\n')
}
