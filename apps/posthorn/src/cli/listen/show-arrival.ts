import { isUtf8 } from 'node:buffer'
import { type Output, printable } from '../output.ts'
import type { Arrival } from './webhook-server.ts'

/** As much of a payload as people are shown. */
const maxShown = 4_000

/** Prints a webhook that came: a line on what it is, what was made of it, and its payload. */
export function showArrival(out: Output, arrival: Arrival, { withHeaders }: { withHeaders: boolean }): void {
  out.item(asJson(arrival), () => {
    const { fault, forwarded, rawHeaders, body } = arrival
    const what = printable(`${arrival.type ?? 'webhook'} ${arrival.id ?? '(without an id)'}`)
    const lines = [
      fault === null
        ? `${out.style('good', '✓')} ${what} verified, ${body.length} bytes`
        : `${out.style('bad', '✗')} ${what} not verified (${fault.code}): ${printable(fault.message)}`,
    ]
    if (withHeaders) lines.push(...pairsOf(rawHeaders).map(([name, value]) => `  ${printable(`${name}: ${value}`)}`))
    if (body.length > 0) lines.push(`  ${out.style('quiet', shown(body))}`)
    if (forwarded !== null) {
      const { answer, durationMs, error } = forwarded
      const said =
        answer === null
          ? `${error}, so Posthorn is answered 502: is your server up?`
          : `answered ${answer.status} after ${durationMs} ms`
      const isGood = answer !== null && answer.status >= 200 && answer.status < 300
      lines.push(`  ${out.style(isGood ? 'good' : 'bad', `→ ${printable(said)}`)}`)
    }
    if (arrival.status === 410) lines.push('  410 tells Posthorn that the endpoint is gone: it is disabled now')
    return lines.join('\n')
  })
}

function asJson({ id, type, receivedAt, fault, rawHeaders, body, forwarded, status }: Arrival) {
  const isText = isUtf8(body)
  return {
    id,
    type,
    received_at: receivedAt.toISOString(),
    verified: fault === null,
    error: fault && { code: fault.code, message: fault.message },
    headers: pairsOf(rawHeaders),
    body: body.toString(isText ? 'utf8' : 'base64'),
    body_encoding: isText ? 'utf8' : 'base64',
    forwarded: forwarded && {
      status: forwarded.answer?.status ?? null,
      duration_ms: forwarded.durationMs,
      error: forwarded.error,
    },
    answered: status,
  }
}

function pairsOf(rawHeaders: readonly string[]): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, n) => [rawHeaders[2 * n]!, rawHeaders[2 * n + 1]!])
}

function shown(body: Buffer): string {
  const text = printable(body.toString('utf8', 0, maxShown))
  return body.length > maxShown ? `${text} ... (${body.length} bytes)` : text
}
