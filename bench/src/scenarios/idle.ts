import { setTimeout as sleep } from 'node:timers/promises'
import { dispatcherBackends, readCounters } from '../measure/database-counters.ts'
import { cpuSecondsOf, readUsage } from '../measure/process-usage.ts'
import { startStatementCounter, totalCalls } from '../measure/statements.ts'
import type { Scenario } from '../scenario.ts'
import { connectObserver } from '../stage/database.ts'
import { startDispatcher } from '../stage/posthorn-process.ts'
import { seedEndpoints } from '../stage/seed.ts'

const endpointCount = 100
const settleMs = 5_000

export const idle: Scenario = {
  name: 'idle',
  what: 'what a dispatcher with 100 endpoints and nothing to deliver costs',
  unit: '% of a core',
  yardstick: null,
  targets: [
    { metric: 'dispatcher_percent', is: 'below', value: 1, label: '1 % of a core' },
    { metric: 'statements_per_s', is: 'below', value: 8, label: '8 statements/s' },
  ],
  byDefault: true,
  async run(stage) {
    const observer = await connectObserver(stage.scope, stage.databaseUrl)
    await seedEndpoints(observer, {
      endpoints: Array.from({ length: endpointCount }, (_, n) => ({ tenant: `t${n}`, url: 'http://127.0.0.1:9/' })),
    })
    const counter = await startStatementCounter(stage, observer)
    const dispatcher = await startDispatcher(stage, observer, {})
    if (readUsage(dispatcher.pid) === null)
      throw new Error('the CPU time of a process is read from /proc, which is not there')
    await sleep(settleMs)
    const seconds = stage.options.seconds ?? 15
    stage.say(`${seconds} s of nothing to do`)
    // Of connections that a pool makes or closes meanwhile only those that were there all the time count.
    const backends = await dispatcherBackends(observer)
    const before = await readCounters(observer)
    await counter?.reset()
    const dispatcherBefore = cpuSecondsOf([dispatcher.pid])
    const backendsBefore = cpuSecondsOf(backends)
    const startedAt = performance.now()
    await dispatcher.whileAlive(sleep(seconds * 1_000))
    const elapsed = (performance.now() - startedAt) / 1_000
    const dispatcherPercent = ((cpuSecondsOf([dispatcher.pid]) - dispatcherBefore) * 100) / elapsed
    const backendsPercent = ((cpuSecondsOf(backends) - backendsBefore) * 100) / elapsed
    const after = await readCounters(observer)
    const counts = await counter?.read()

    const metrics: Record<string, number> = {
      dispatcher_percent: dispatcherPercent,
      backends_percent: backendsPercent,
      commits_per_s: (after.commits - before.commits) / elapsed,
      wal_bytes_per_s: (after.walBytes - before.walBytes) / elapsed,
      dispatcher_rss_mib: readUsage(dispatcher.pid)?.rssMiB ?? 0,
    }
    if (counts) metrics['statements_per_s'] = totalCalls(counts) / elapsed
    return {
      value: dispatcherPercent,
      ratio: null,
      metrics,
      details: {
        endpoints: endpointCount,
        backends: backends.length,
        ...metrics,
        ...(counts && { statements: [...counts].sort((a, b) => b.calls - a.calls).slice(0, 12) }),
      },
    }
  },
}
