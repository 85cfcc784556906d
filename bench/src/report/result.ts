import type { Machine, Versions } from '../measure/machine.ts'
import { median, rounded, spread } from '../measure/statistics.ts'
import type { Run, Scenario, Target } from '../scenario.ts'

/** A scenario's line of --json, and a file of results/. */
export type Result = {
  scenario: string
  /** Of several runs, the median. */
  value: number
  unit: string
  /** Against `yardstick`, measured in the same run. */
  ratio: number | null
  yardstick: string | null
  target: (Pick<Target, 'metric' | 'is' | 'value'> & { reached: number; pass: boolean })[]
  /** Null where there is no target. */
  pass: boolean | null
  runs: number
  /** Of `value`, over the runs: (highest - lowest) / median. */
  spread: number
  /** Of the run in the middle. */
  details: Record<string, unknown>
  values: number[]
  ratios: number[]
  at: string
  options: { seconds: number | null; deliveries: number; rate: number | null; profile: boolean }
  machine: Machine
  versions: Versions & { postgres: string }
  database: Record<string, string>
}

export type Verdict = Pick<Result, 'value' | 'ratio' | 'target' | 'pass' | 'spread' | 'details' | 'values' | 'ratios'>

/** What the runs of a scenario come to: medians, each against its target. */
export function judge(scenario: Pick<Scenario, 'targets'>, runs: readonly Run[]): Verdict {
  const values = runs.map((run) => run.value)
  const ratios = runs.flatMap((run) => (run.ratio === null ? [] : [run.ratio]))
  const value = median(values)
  const middle = [...runs].sort((a, b) => Math.abs(a.value - value) - Math.abs(b.value - value))[0]!
  const target = scenario.targets.map(({ metric, is, value: wanted }) => {
    const reached = metric === 'ratio' ? median(ratios) : median(runs.map((run) => run.metrics[metric] ?? Number.NaN))
    return {
      metric,
      is,
      value: wanted,
      reached: rounded(reached),
      pass: is === 'least' ? reached >= wanted : reached < wanted,
    }
  })
  return {
    value: rounded(value),
    ratio: ratios.length > 0 ? rounded(median(ratios)) : null,
    target,
    pass: target.length > 0 ? target.every(({ pass }) => pass) : null,
    spread: rounded(spread(values), 3),
    details: roundedThrough(middle.details) as Record<string, unknown>,
    values: values.map((each) => rounded(each)),
    ratios: ratios.map((each) => rounded(each)),
  }
}

function roundedThrough(value: unknown): unknown {
  if (typeof value === 'number') return rounded(value)
  if (Array.isArray(value)) return value.map(roundedThrough)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, roundedThrough(each)]))
  }
  return value
}
