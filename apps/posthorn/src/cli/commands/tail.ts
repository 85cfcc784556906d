import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { wholeNumber } from '../arguments.ts'
import { type Delivery, deliveryStates, lastOf, nameOf, stateStyle, whenOf } from '../delivery.ts'
import { createDeliveryWatch, type Poll } from '../delivery-watch.ts'
import { callsApi, examples } from '../help.ts'
import { type Output, printable } from '../output.ts'
import type { Runner } from '../runner.ts'
import type { Session } from '../session.ts'
import { isAway } from '../watch-job.ts'

type Options = { endpoint?: string; type?: string; state?: Delivery['state']; last: number; interval: number }

export function defineTail(program: Command, { run }: Runner): void {
  const command = program
    .command('tail')
    .summary("shows what becomes of a tenant's deliveries, live")
    .description(
      "Shows what becomes of a tenant's deliveries, as it happens: each that succeeded, failed, was canceled or waits for a retry. It asks the API each second, and at most for a thousand new ones. Ctrl-C ends it.",
    )
    .argument('<tenant>', "the tenant's id")
    .option('--endpoint <id>', 'to this endpoint: ep_...')
    .option('--type <type>', 'of events of this type')
    .addOption(new Option('--state <state>', 'only those that come to this state').choices(deliveryStates))
    .option('--last <count>', 'how many of the past to show first', wholeNumber(0, 200), 10)
    .option('--interval <seconds>', 'how often it asks', wholeNumber(1, 3_600), 1)
  examples(callsApi(command), [
    ['tail acme', 'all of acme, from the last ten on'],
    ['tail acme --state failed --json', 'what fails, a JSON object a line'],
  ]).action(run(tail, { endsItself: true }))
}

async function tail({ out, posthorn, stopping }: Session, tenant: string, options: Options): Promise<void> {
  const { endpoint, type, state, last, interval } = options
  const filter = { ...(endpoint && { endpoint_id: endpoint }), ...(type && { event_type: type }) }
  const watch = createDeliveryWatch(await posthorn(), tenant, filter)
  const wanted = (delivery: Delivery): boolean =>
    state === undefined ? delivery.state !== 'pending' && delivery.state !== 'in_flight' : delivery.state === state
  const stopped = new Promise<null>((resolve) =>
    stopping.addEventListener('abort', () => resolve(null), { once: true }),
  )
  const poll = (): Promise<Poll | null> => Promise.race([watch.poll(), stopped])
  const first = await poll()
  if (first === null) return
  show(out, last === 0 ? [] : first.changed.filter(wanted).slice(-last))
  let away = false
  while (!stopping.aborted) {
    await sleep(interval * 1_000, undefined, { signal: stopping }).catch(() => undefined)
    if (stopping.aborted) return
    try {
      const news = await poll()
      if (news === null) return
      show(out, news.changed.filter(wanted))
      if (news.missed) out.note('... more than a thousand new deliveries at once: not all are shown')
      if (away) out.note('... the API answers again')
      away = false
    } catch (error) {
      if (!isAway(error)) throw error
      if (!away) out.note('... the API does not answer: asking on')
      away = true
    }
  }
}

function show(out: Output, deliveries: readonly Delivery[]): void {
  for (const delivery of deliveries) {
    out.item(delivery, () => {
      const { attempts, event_type, state } = delivery
      const tries = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
      const style = stateStyle(delivery)
      const shown = style === null ? state.padEnd(9) : out.style(style, state.padEnd(9))
      return [shown, printable(event_type), nameOf(delivery), tries, lastOf(delivery), whenOf(delivery)]
        .filter(Boolean)
        .join('  ')
    })
  }
}
