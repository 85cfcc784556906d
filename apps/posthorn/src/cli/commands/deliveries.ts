import { type Command, Option } from 'commander'
import { timeAgo } from '../arguments.ts'
import { type Delivery, deliveryColumns, deliveryStates } from '../delivery.ts'
import { callsApi, examples } from '../help.ts'
import { isList, type ListOptions, pageSize, printList } from '../lists.ts'
import type { Runner } from '../runner.ts'
import { listOfTenant } from '../tenant.ts'

type Options = ListOptions & {
  endpoint?: string
  state?: Delivery['state']
  type?: string
  event?: string
  since?: string
  until?: string
}

export function defineDeliveries(program: Command, { run }: Runner): void {
  const command = program
    .command('deliveries')
    .summary("lists a tenant's deliveries")
    .description("Lists a tenant's deliveries, what is owed or was, the newest event first.")
    .argument('<tenant>', "the tenant's id")
    .option('--endpoint <id>', 'to this endpoint: ep_...')
    .addOption(new Option('--state <state>', 'in this state').choices(deliveryStates))
    .option('--type <type>', 'of events of this type')
    .option('--event <id>', 'of this event alone: evt_...')
    .option('--since <when>', 'of events from then on: 2h ago, or 2026-01-30T12:00:00Z', timeAgo)
    .option('--until <when>', 'of events before then', timeAgo)
  examples(isList(callsApi(command)), [
    ['deliveries acme --state failed --since 2d', 'what failed for acme in the last two days'],
    ['deliveries acme --all --json', 'every delivery, a JSON object a line'],
  ]).action(
    run(async ({ out, posthorn }, tenant: string, options: Options) => {
      const { endpoint, state, type, event, since, until } = options
      const client = await posthorn()
      const { deliveries, events } = client
      const period = { limit: pageSize(options), ...(since && { since }), ...(until && { until }) }
      const query = {
        ...period,
        ...(endpoint && { endpoint_id: endpoint }),
        ...(state && { state }),
        ...(type && { event_type: type }),
      }
      const list = event ? events.deliveries(tenant, event, { limit: period.limit }) : deliveries.list(tenant, query)
      const pages = listOfTenant(client, tenant, list.pages())
      await printList(out, pages, options, { columns: deliveryColumns, none: 'no such deliveries' })
    }),
  )
}
