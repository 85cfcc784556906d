import type { Command } from 'commander'
import { listOf, timeAhead } from '../arguments.ts'
import { callsApi, examples } from '../help.ts'
import { readPayload } from '../payload.ts'
import type { Runner } from '../runner.ts'

type Options = {
  file?: string
  idempotencyKey?: string
  channels?: string[]
  orderingKey?: string
  deliverAt?: string
}

export function definePublish(program: Command, { run }: Runner): void {
  const command = program
    .command('publish')
    .summary('publishes an event')
    .description(
      'Publishes an event. Its payload is JSON, sent byte for byte as it is given: an argument, a file, or stdin. Once this has ended well, the event is committed and owed.',
    )
    .argument('<tenant>', "the tenant's id")
    .argument('<type>', 'the type of the event: invoice.paid')
    .argument('[payload]', 'JSON, or - for stdin')
    .option('-f, --file <path>', 'the payload is in this file')
    .option('--idempotency-key <key>', 'the same call under the same key publishes once')
    .option('--channels <names>', 'only endpoints of these channels are owed it', listOf)
    .option('--ordering-key <key>', 'events of one key keep their order, at endpoints that ask for it')
    .option('--deliver-at <when>', 'not attempted before: 10m from now, or 2026-01-30T12:00:00Z', timeAhead)
  examples(callsApi(command), [
    [`publish acme invoice.paid '{"total":99.50}'`, 'the payload as an argument'],
    [
      'publish acme invoice.paid --file invoice.json --idempotency-key inv-1042-paid',
      'a file, once, however often it is typed',
    ],
    ['publish acme invoice.paid - < invoice.json', 'from stdin'],
  ]).action(
    run(
      async ({ out, folder, posthorn }, tenant: string, type: string, given: string | undefined, options: Options) => {
        const payload_json = await readPayload({ given, file: options.file, folder })
        const { idempotencyKey, channels, orderingKey, deliverAt } = options
        const event = await (await posthorn()).events.publish(
          tenant,
          {
            type,
            payload_json,
            ...(channels && { channels }),
            ...(orderingKey !== undefined && { ordering_key: orderingKey }),
            ...(deliverAt && { deliver_at: deliverAt }),
          },
          idempotencyKey === undefined ? {} : { idempotencyKey },
        )
        out.item(event, () => {
          const owed = `owed to ${event.deliveries} ${event.deliveries === 1 ? 'endpoint' : 'endpoints'}`
          return `${event.id} ${event.type}, ${owed}${event.replayed ? ' (published before, under this key)' : ''}`
        })
        if (event.deliveries === 0) {
          out.note(
            `Nobody is owed it: is ${tenant} the right tenant? \`posthorn endpoints ${tenant}\` lists its endpoints, of which none takes it: see their status, types, channels and filters`,
          )
        }
      },
    ),
  )
}
