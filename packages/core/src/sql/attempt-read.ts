import type { Pool } from '../db/pool.ts'
import { beginGuarded, pipelinedTransaction } from './pipelined-transaction.ts'

/** Outcomes of real attempts; the rows that log an end without one are not listed. */
export type AttemptOutcome = 'succeeded' | 'failed' | 'lease_lost' | 'superseded'

export type AttemptRow = {
  id: string
  eventId: string
  endpointId: string
  eventType: string
  number: number
  outcome: AttemptOutcome
  /** In which it left the delivery. */
  state: 'pending' | 'scheduled' | 'succeeded' | 'failed' | 'canceled'
  startedAt: Date
  durationMs: number | null
  url: string | null
  status: number | null
  errorCode: string | null
  errorPhase: string | null
  errorMessage: string | null
  signature: string | null
  userAgent: string | null
  headerNames: string[] | null
  /** JSON: `[[name, value], ...]`. */
  responseHeaders: string | null
  responseBody: Buffer | null
  truncated: boolean
}

// Reads the attempts of one delivery by their key, under the tenant's own event.
const listAttemptsText = `
select a.id as "id", a.event_id as "eventId", a.endpoint_id as "endpointId", e.type as "eventType", a.number as "number",
  case a.outcome when 1 then 'succeeded' when 2 then 'failed' when 3 then 'lease_lost' else 'superseded' end as "outcome",
  case a.state when 0 then 'pending' when 2 then 'scheduled' when 4 then 'succeeded' when 5 then 'failed' else 'canceled' end as "state",
  a.started_at as "startedAt", a.duration_ms as "durationMs", a.url as "url", a.status as "status",
  a.error_code as "errorCode", a.error_phase as "errorPhase", a.error_message as "errorMessage",
  a.signature as "signature", a.user_agent as "userAgent", a.header_names as "headerNames",
  a.response_headers as "responseHeaders", a.response_body as "responseBody", a.truncated as "truncated"
from posthorn.event e
join posthorn.attempt a on a.event_id = e.id and a.endpoint_id = $3
where e.id = $2 and e.tenant_id = $1 and a.outcome in (1, 2, 3, 4)
  and ($4::integer is null or (a.number, a.id) < ($4, $5::uuid))
order by a.number desc, a.id desc limit $6`

/** Where an attempt stands among those of its delivery. */
export type AttemptPosition = { number: number; id: string }

export type AttemptList = {
  tenantId: string
  eventId: string
  endpointId: string
  after?: AttemptPosition | undefined
  limit: number
}

/** So many attempts of a delivery, newest first; none when there is no such delivery. */
export function listAttempts(pool: Pool, list: AttemptList): Promise<AttemptRow[]> {
  const { tenantId, eventId, endpointId, after, limit } = list
  return pipelinedTransaction(pool, beginGuarded, async (client) => {
    const { rows } = await client.query<AttemptRow>({
      name: 'attempt-list',
      text: listAttemptsText,
      values: [tenantId, eventId, endpointId, after?.number ?? null, after?.id ?? null, limit],
    })
    return rows
  })
}
