import type { components, Posthorn } from '@posthorn/client'
import type { Command } from 'commander'
import { deliveryName } from '../arguments.ts'
import { callsApi, examples } from '../help.ts'
import { isList, type ListOptions, pageSize, printList } from '../lists.ts'
import { type Column, printable, type Style } from '../output.ts'
import type { Runner } from '../runner.ts'
import type { Session } from '../session.ts'
import { listOfTenant } from '../tenant.ts'
import { UsageError } from '../usage-error.ts'

type Attempt = components['schemas']['Attempt']
type Name = { event: string; endpoint: string | null }
type Options = ListOptions & { response?: boolean }

function outcomeStyle({ outcome }: Attempt): Style {
  if (outcome === 'succeeded') return 'good'
  return outcome === 'failed' ? 'bad' : 'doubtful'
}

const columns: readonly Column<Attempt>[] = [
  { name: 'ENDPOINT', of: ({ endpoint_id }) => endpoint_id },
  { name: 'NO', of: ({ number }) => String(number) },
  { name: 'STARTED', of: ({ started_at }) => started_at },
  { name: 'TOOK', of: ({ duration_ms }) => (duration_ms === null ? '' : `${duration_ms} ms`) },
  { name: 'OUTCOME', of: ({ outcome }) => outcome, style: outcomeStyle },
  { name: 'STATUS', of: ({ response }) => String(response?.status ?? '') },
  { name: 'ERROR', of: ({ error }) => (error === null ? '' : [error.code, error.message].filter(Boolean).join(': ')) },
]

/** An event, whose deliveries are all meant, or one delivery. */
function eventOrDelivery(text: string): Name {
  if (text.includes('/')) return deliveryName(text)
  if (text === '') throw new UsageError('name an event, evt_..., or a delivery, evt_.../ep_...')
  return { event: text, endpoint: null }
}

export function defineAttempts(program: Command, { run }: Runner): void {
  const command = program
    .command('attempts')
    .summary('lists the attempts of an event or a delivery')
    .description('Lists the attempts that were made for an event, or for one delivery, and what came of each.')
    .argument('<tenant>', "the tenant's id")
    .argument('<delivery>', 'evt_.../ep_..., or evt_... for all deliveries of an event')
    .option('--response', 'with what the endpoint answered')
  examples(isList(callsApi(command)), [
    ['attempts acme evt_01m8kt6bzcfcvr3kxrwj9eps8g', 'what came of an event, at each endpoint'],
    [
      'attempts acme evt_01m8kt6bzcfcvr3kxrwj9eps8g/main --response',
      'with the answers of the endpoint whose uid is main',
    ],
  ]).action(run(listAttempts))
}

async function listAttempts(
  { out, posthorn }: Session,
  tenant: string,
  named: string,
  options: Options,
): Promise<void> {
  const name = eventOrDelivery(named)
  const client = await posthorn()
  const pages = listOfTenant(client, tenant, pagesOf(client, tenant, name, pageSize(options)))
  const withAnswers = options.response && !out.json
  await printList(out, pages, options, { columns, none: 'no attempts yet', ...(withAnswers && { below: answerOf }) })
}

async function* pagesOf(client: Posthorn, tenant: string, { event, endpoint }: Name, limit: number) {
  if (endpoint !== null) return yield* client.deliveries.attempts(tenant, event, endpoint, { limit }).pages()
  // One that is unknown is told, and is no empty list.
  for await (const delivery of client.events.deliveries(tenant, event, { limit })) {
    yield* client.deliveries.attempts(tenant, event, delivery.endpoint_id, { limit }).pages()
  }
}

function answerOf({ response }: Attempt): string {
  if (response === null) return '  no answer\n'
  const headers = Object.entries(response.headers).map(([name, value]) => `  ${name}: ${printable(value)}`)
  const kept = response.body_encoding === 'base64' ? '(in base64) ' : ''
  const body = `${kept}${response.body}${response.truncated ? ' ...' : ''}`.trimEnd()
  return [...headers, '', ...body.split('\n').map((line) => `  ${printable(line)}`), ''].join('\n')
}
