import type { components } from '@posthorn/client'
import { type Command, InvalidArgumentError } from 'commander'
import { listOf, timeAgo } from '../arguments.ts'
import { callsApi, examples } from '../help.ts'
import type { Runner } from '../runner.ts'
import { tellJob, watchJob } from '../watch-job.ts'

const states = ['failed', 'canceled', 'missed'] as const
type State = (typeof states)[number]
type Options = { since: string; until?: string; states?: State[]; dryRun?: boolean; watch: boolean }
type Count = components['schemas']['RecoveryCount']

function stateList(text: string, before?: State[]): State[] {
  const names = listOf(text, before)
  const wrong = names.find((name) => !(states as readonly string[]).includes(name))
  if (wrong !== undefined)
    throw new InvalidArgumentError(`Write some of ${states.join(', ')}, with commas between them.`)
  return names as State[]
}

export function defineRecover(program: Command, { run }: Runner): void {
  const command = program
    .command('recover')
    .summary('owes an endpoint again what it has not got')
    .description(
      'Owes an endpoint again what it has not got: what failed, was canceled, or was missed. A job does it, whose progress is shown. Ctrl-C ends the showing, and not the job.',
    )
    .argument('<tenant>', "the tenant's id")
    .argument('<endpoint>', "the endpoint's id, ep_..., or its uid")
    .requiredOption('--since <when>', 'events from then on: 2d ago, or 2026-01-30T00:00:00Z', timeAgo)
    .option('--until <when>', 'events before then', timeAgo)
    .option('--states <states>', 'some of failed,canceled,missed (default: all three)', stateList)
    .option('--dry-run', 'only count')
    .option('--no-watch', 'only begin: `posthorn job` tells how far it is')
  examples(callsApi(command), [
    ['recover acme main --since 2d --dry-run', 'how much is there?'],
    ['recover acme main --since 2d --states failed,missed', 'owe it again, and leave what was canceled alone'],
  ]).action(
    run(async (session, tenant: string, endpoint: string, options: Options) => {
      const { since, until, dryRun, watch } = options
      const client = await session.posthorn()
      const result = await client.endpoints.recover(tenant, endpoint, {
        since,
        ...(until && { until }),
        ...(options.states && { states: options.states }),
        ...(dryRun && { dry_run: true }),
      })
      if (!('status' in result)) {
        session.out.item(result, () => tellCount(result))
        return
      }
      if (!watch) return tellJob(session, result)
      session.out.note(`${result.id}: Ctrl-C ends this view only, \`posthorn job ${result.id} --stop\` the recovery`)
      return watchJob(session, client, result, 'owed again')
    }),
  )
}

function tellCount({ total, failed, canceled, missed, counted_until }: Count): string {
  const whole = `${total} to owe again: ${failed} failed, ${canceled} canceled, ${missed} missed`
  return counted_until === null ? whole : `${whole}; counted until ${counted_until}, and there may be more behind it`
}
