import type { Command } from 'commander'
import { deliveryName } from '../arguments.ts'
import { nameOf } from '../delivery.ts'
import { callsApi, examples } from '../help.ts'
import type { Runner } from '../runner.ts'

export function defineRedeliver(program: Command, { run }: Runner): void {
  const command = program
    .command('redeliver')
    .summary('owes deliveries again, now')
    .description('Owes deliveries again, now, each with a fresh schedule and the same webhook-id.')
    .argument('<tenant>', "the tenant's id")
    .argument('<delivery...>', 'evt_.../ep_..., one or more')
  examples(callsApi(command), [
    [
      'redeliver acme evt_01m8kt6bzcfcvr3kxrwj9eps8g/ep_01m8kt5xw5ej7bdvsv2r3a8x6c',
      'one delivery, by its name in `posthorn deliveries`',
    ],
    ['redeliver acme evt_01m8kt6bzcfcvr3kxrwj9eps8g/main', 'the same, to the endpoint whose uid is main'],
  ]).action(
    run(async ({ out, posthorn }, tenant: string, named: string[]) => {
      const names = named.map(deliveryName)
      const { deliveries } = await posthorn()
      for (const { event, endpoint } of names) {
        const delivery = await deliveries.redeliver(tenant, event, endpoint)
        out.item(delivery, () => `${nameOf(delivery)} is ${delivery.state}`)
      }
    }),
  )
}
