import { setTimeout as sleep } from 'node:timers/promises'
import { describeLatency } from '../measure/latencies.ts'
import { startReceiver } from '../measure/raw-posts.ts'
import { startStatementCounter } from '../measure/statements.ts'
import { sum } from '../measure/statistics.ts'
import type { Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { seedTenants, startPublishing } from '../stage/publishing.ts'
import { createTrouble, type TroubleSeen } from './isolation-trouble.ts'

const endpointCount = 200
const eventsPerSecond = 150
const deadCount = 100
const deadBacklog = 100
const warmUpMs = 5_000
const phaseSeconds = 8

/** With trouble and without in turn, so that what drifts on a shared machine weighs on both. */
const phases = ['calm', 'troubled', 'calm', 'troubled', 'calm'] as const
type Kind = (typeof phases)[number]

type Sample = {
  intendedAt: number[]
  arrivedAt: number[]
  /** Those that came before the phase was over, and the phase's seconds. */
  inTime: number
  seconds: number
}

export const isolation: Scenario = {
  name: 'isolation',
  what: 'publish to receipt at 200 healthy endpoints, while one hangs with twice --deliveries waiting and 100 are dead, against without',
  unit: 'times (p99)',
  yardstick: null,
  targets: [
    { metric: 'p99_ratio', is: 'below', value: 1.5, label: 'p99 1.5 times' },
    { metric: 'throughput_ratio', is: 'least', value: 0.9, label: 'throughput 0.9' },
  ],
  byDefault: true,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    const receiver = await startReceiver(stage)
    const tenants = await seedTenants(observer, receiver, endpointCount)
    const hangingBacklog = stage.options.deliveries * 2
    const trouble = await createTrouble(stage, observer, { hangingBacklog, dead: deadCount, deadBacklog })
    // Others than those that are measured: these warm the code of failures, and prove nothing about lanes.
    const warmUpTrouble = await createTrouble(stage, observer, { hangingBacklog: 100, dead: 20, deadBacklog })
    const counter = stage.profileDir === null ? null : await startStatementCounter(stage, observer)
    const publishing = await startPublishing(stage, observer, receiver, tenants)
    const rate = stage.options.rate ?? eventsPerSecond
    const seconds = stage.options.seconds ?? phaseSeconds

    async function publish(measureMs: number): Promise<Sample> {
      await receiver.worker.call('reset', undefined, 10_000)
      const sent = await publishing.open(rate, measureMs)
      const arrivedAt = await publishing.arrivalsOf(sent, sent.ids.length)
      // The last is due one gap before the end; what comes later than a tenth of a second after has lagged.
      const endsAt = sent.intendedAt[0]! + measureMs + 100
      return {
        intendedAt: [...sent.intendedAt],
        arrivedAt,
        inTime: arrivedAt.filter((at) => at <= endsAt).length,
        seconds: measureMs / 1_000,
      }
    }

    stage.say(`${rate} events/s; ${hangingBacklog} waiting at the endpoint that hangs`)
    await warmUpTrouble.begin()
    await publish(warmUpMs)
    await warmUpTrouble.end()
    const samples: { kind: Kind; sample: Sample }[] = []
    const seen: TroubleSeen[] = []
    for (const kind of phases) {
      if (kind === 'troubled') await trouble.begin()
      else await sleep(1_000)
      stage.say(`${kind}, ${seconds} s`)
      samples.push({ kind, sample: await publish(seconds * 1_000) })
      if (kind === 'troubled') seen.push(await trouble.end())
    }

    const counts = await counter?.read()
    const ofKind = (wanted: Kind): Sample[] => samples.flatMap(({ kind, sample }) => (kind === wanted ? [sample] : []))
    const calm = summarize(ofKind('calm'))
    const troubled = summarize(ofKind('troubled'))
    const metrics = {
      p99_ratio: troubled.latency.p99_ms / calm.latency.p99_ms,
      p50_ratio: troubled.latency.p50_ms / calm.latency.p50_ms,
      throughput_ratio: troubled.perSecond / calm.perSecond,
    }
    return {
      value: metrics.p99_ratio,
      ratio: null,
      metrics,
      details: {
        ...metrics,
        events_per_s: rate,
        hanging_backlog: hangingBacklog,
        dead_endpoints: deadCount,
        dead_backlog_each: deadBacklog,
        calm: calm.latency,
        troubled: troubled.latency,
        calm_per_s: calm.perSecond,
        troubled_per_s: troubled.perSecond,
        p99_ms_by_phase: samples
          .map(({ sample }) => Math.round(describeLatency(sample.intendedAt, sample.arrivedAt).p99_ms))
          .join(' '),
        troubled_p99_ms_by_second: bySecond(ofKind('troubled')).join(' '),
        ...(counts && { statements: counts.slice(0, 14) }),
        hanging_in_flight: Math.max(...seen.map((each) => each.hangingInFlight)),
        most_attempts_of_a_dead: Math.max(...seen.map((each) => each.mostDeadAttempts)),
      },
    }
  },
}

function summarize(samples: readonly Sample[]) {
  return {
    latency: describeLatency(
      samples.flatMap((sample) => sample.intendedAt),
      samples.flatMap((sample) => sample.arrivedAt),
    ),
    perSecond: sum(samples.map((sample) => sample.inTime)) / sum(samples.map((sample) => sample.seconds)),
  }
}

/** p99 in each second of the samples' phases, all samples together. */
function bySecond(samples: readonly Sample[]): number[] {
  const seconds = Math.max(...samples.map((sample) => sample.seconds))
  return Array.from({ length: seconds }, (_, second) => {
    const from: number[] = []
    const to: number[] = []
    for (const { intendedAt, arrivedAt } of samples) {
      for (const [at, moment] of intendedAt.entries()) {
        if (Math.floor((moment - intendedAt[0]!) / 1_000) !== second) continue
        from.push(moment)
        to.push(arrivedAt[at]!)
      }
    }
    return Math.round(describeLatency(from, to).p99_ms)
  })
}
