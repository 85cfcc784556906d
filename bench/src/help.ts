import type { Scenario } from './scenario.ts'

const head = `pnpm bench [scenario...] [options]

Measures Posthorn on this machine. It starts all it needs, each in a process of its own: a Postgres in a temporary
folder (durable: fsync and synchronous_commit on), a receiver, load generators, the API and a dispatcher; and stops
them all at the end. Rates are given as ratios to a yardstick of the same run, for machines differ and wander.

Options
  --list             the scenarios, and which of them run when none is named
  --runs N           run each scenario N times; the table gives the median and the spread (default 1)
  --seconds N        how long each timed part lasts (default: the scenario's own, 5 to 120 s)
  --deliveries N     the backlog of a drain, and half of that of isolation's endpoint that hangs (default 50,000). Forty times
                     that wait in backlog: 250,000 make ten million
  --rate N           events a second: of latency (default: a tenth of the best, measured first), isolation and recovery
                     (150), and of steady, which then looks for none
  --all              every scenario; among them the drains with the default POSTHORN_CONCURRENCY
  --json             one JSON line a scenario on stdout, instead of the table
  --save             keep each result as bench/results/<date>-<scenario>.json, which git ignores
  --release          what a release is measured with, at its sizes (about an hour; or those of it that are named): results
                     are kept as bench/results/<version>/<scenario>.json, and the plots of docs/performance.md drawn anew
  --plot             measure nothing: draw those plots from what is kept
  --profile          CPU profiles of API and dispatcher (bench/results/profiles/), their 25 costliest functions, and the
                     statements that took longest. Slows what it measures: read the shares, not the rates
  -h, --help         this text

Environment
  POSTHORN_BENCH_DATABASE_URL   a Postgres to use instead of its own; a superuser's URL. A database is made and dropped
                                for each run. Unset by default
  TMPDIR                        where the temporary data folder is made; not in memory, or fsync costs nothing

Ends with 0 when every scenario was measured, its targets reached or missed; 1 when one failed, for instance because a
delivery was lost or doubled; 2 for a mistake on the command line.

Examples
  pnpm bench                                      the default set, about six minutes
  pnpm bench drain-10 --deliveries 200000 --runs 5
  pnpm bench latency --rate 200 --seconds 60 --json
  pnpm bench drain-1000 --profile
  pnpm bench --release steady held
`

export function helpText(scenarios: readonly Scenario[]): string {
  return `${head}\nScenarios (* run by default)\n${listText(scenarios)}\n`
}

export function listText(scenarios: readonly Scenario[]): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length))
  return scenarios
    .map(({ name, what, byDefault }) => `${byDefault ? '*' : ' '} ${name.padEnd(width)}  ${what}`)
    .join('\n')
}
