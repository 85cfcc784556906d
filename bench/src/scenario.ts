import type { Options } from './options.ts'
import type { Scope } from './stage/scope.ts'

/** What a scenario is to reach. */
export type Target = {
  /** A key of the run's `metrics`, or `ratio`. */
  metric: string
  /** `least`: at least this; `below`: less than this. */
  is: 'least' | 'below'
  value: number
  /** How it is written for a reader: `0.35 of raw`. */
  label: string
}

/** What one run measured. */
export type Run = {
  /** The scenario's figure, in its unit. */
  value: number
  /** Against the yardstick that was measured in the same run. Null where the figure stands by itself. */
  ratio: number | null
  /** Further figures that targets may name. */
  metrics: Record<string, number>
  /** What explains the figure, for whoever reads the results. */
  details: Record<string, unknown>
}

export type Scenario = {
  name: string
  /** One line for --list. */
  what: string
  unit: string
  /** Of what the ratio is: `raw`. Null where there is none. */
  yardstick: string | null
  targets: readonly Target[]
  /** Whether it runs when none is named. */
  byDefault: boolean
  /** Measures once. Throws when what was measured was not done right, whatever its speed. */
  run(stage: Stage): Promise<Run>
}

/** What a run works with. */
export type Stage = {
  options: Options
  /** A migrated, empty database of this run's own. */
  databaseUrl: string
  /** Turns pg_stat_statements on or off, where it can be. */
  countStatements(on: boolean): Promise<void>
  /** Ends with the run. */
  scope: Scope
  /** Where processes leave their CPU profiles; null without --profile. */
  profileDir: string | null
  /** Tells on stderr how far it is. */
  say(line: string): void
}
