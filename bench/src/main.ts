import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { helpText, listText } from './help.ts'
import { describeMachine, describeVersions } from './measure/machine.ts'
import { describeProfiles } from './measure/profile.ts'
import { type Options, parseOptions, UsageError } from './options.ts'
import { releaseRuns } from './release.ts'
import { drawPlots } from './report/plots.ts'
import { judge, type Result } from './report/result.ts'
import { resultsFolder, saveReleaseResult, saveResult, stamp } from './report/save.ts'
import { formatDetails, formatResults } from './report/table.ts'
import type { Run, Scenario } from './scenario.ts'
import { scenarios } from './scenarios/index.ts'
import { type BenchServer, startBenchServer } from './stage/database.ts'
import { createScope, type Scope } from './stage/scope.ts'

const say = (line: string): void => void process.stderr.write(`${line}\n`)
const names = scenarios.map(({ name }) => name)

/** A scenario that takes longer than this is stuck, whatever its own deadlines say. */
const longestRunMs = 3_600_000

const scope = createScope()
for (const [name, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(name, () => {
    if (scope.ended()) return
    say('stopping what was started')
    void scope.end().then(
      () => process.exit(code),
      (error: Error) => {
        say(error.message)
        process.exit(code)
      },
    )
  })
}

process.exitCode = await main()

async function main(): Promise<number> {
  let options: Options
  try {
    options = parseOptions(process.argv.slice(2), names)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    say(`bench: ${error.message} (--help tells more)`)
    return 2
  }
  if (options.help) process.stdout.write(helpText(scenarios))
  else if (options.list) process.stdout.write(`${listText(scenarios)}\n`)
  else if (options.plot) sayPlots()
  else return bench(options)
  return 0
}

async function bench(options: Options): Promise<number> {
  const chosen = choose(options)
  const machine = describeMachine()
  const results: { scenario: Scenario; result: Result }[] = []
  const failures: string[] = []
  try {
    const server = await startBenchServer(scope, process.env['POSTHORN_BENCH_DATABASE_URL'])
    const versions = { ...describeVersions(), postgres: server.version }
    say(describe({ ...machine }))
    say(describe({ ...versions, ...server.settings }))
    for (const warning of server.warnings) say(`WARNING: ${warning}`)
    for (const { scenario, sized } of chosen) {
      try {
        const runs = await runScenario(scenario, server, sized)
        const result: Result = {
          scenario: scenario.name,
          unit: scenario.unit,
          yardstick: scenario.yardstick,
          runs: runs.length,
          ...judge(scenario, runs),
          at: new Date().toISOString(),
          options: {
            seconds: sized.seconds,
            deliveries: sized.deliveries,
            rate: sized.rate,
            profile: sized.profile,
          },
          machine,
          versions,
          database: server.settings,
        }
        results.push({ scenario, result })
        if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
        if (options.release) say(`saved ${saveReleaseResult(result)}`)
        else if (options.save) say(`saved ${saveResult(result)}`)
      } catch (error) {
        // Interrupted: the signal's handler ends it all.
        if (scope.ended()) return await new Promise<never>(() => undefined)
        failures.push(scenario.name)
        say(`FAILED: ${scenario.name}: ${(error as Error).message}`)
      }
    }
  } finally {
    await scope.end()
  }
  if (options.release) sayPlots()
  if (!options.json && results.length > 0) {
    for (const { scenario, result } of results) {
      const details = formatDetails(result.details)
      if (details !== '') process.stdout.write(`${scenario.name}: ${scenario.what}\n${details}\n\n`)
    }
    process.stdout.write(`${formatResults(results)}\n`)
    if (options.profile)
      process.stdout.write('Measured with --profile: the rates are lower than they would be without.\n')
  }
  if (failures.length > 0) say(`FAILED: ${failures.join(', ')}`)
  return failures.length > 0 ? 1 : 0
}

/** What is to be run, each with its sizes. */
function choose(options: Options): { scenario: Scenario; sized: Options }[] {
  const named = ({ name }: { name: string }): boolean => options.scenarios.includes(name)
  if (!options.release) {
    const wanted = (scenario: Scenario): boolean =>
      options.all || (options.scenarios.length > 0 ? named(scenario) : scenario.byDefault)
    return scenarios.filter(wanted).map((scenario) => ({ scenario, sized: options }))
  }
  return releaseRuns
    .filter((run) => options.scenarios.length === 0 || named(run))
    .map(({ name, sizes }) => ({
      scenario: scenarios.find((scenario) => scenario.name === name)!,
      sized: { ...options, ...sizes },
    }))
}

function sayPlots(): void {
  const { drawn, missing } = drawPlots()
  for (const path of drawn) say(`drawn ${path}`)
  if (missing.length > 0) say(`not drawn, for no result is kept: ${missing.join(', ')}`)
}

async function runScenario(scenario: Scenario, server: BenchServer, options: Options): Promise<Run[]> {
  const runs: Run[] = []
  for (let number = 1; number <= options.runs; number++) {
    const title = options.runs > 1 ? `${scenario.name} (run ${number} of ${options.runs})` : scenario.name
    say(title)
    const profileDir = options.profile
      ? join(resultsFolder, 'profiles', `${stamp(new Date())}-${scenario.name}-${number}`)
      : null
    if (profileDir) mkdirSync(profileDir, { recursive: true })
    runs.push(await runOnce(scenario, scope.inner(), server, options, profileDir))
    if (profileDir) for (const line of await describeProfiles(profileDir)) say(line)
  }
  return runs
}

async function runOnce(
  scenario: Scenario,
  runScope: Scope,
  server: BenchServer,
  options: Options,
  profileDir: string | null,
): Promise<Run> {
  const late = setTimeout(() => void runScope.end().catch(() => undefined), longestRunMs)
  let run: Run
  try {
    const databaseUrl = await server.createDatabase(runScope)
    run = await scenario.run({
      options,
      databaseUrl,
      countStatements: server.countStatements,
      scope: runScope,
      profileDir,
      say: (line) => say(`  ${line}`),
    })
  } catch (error) {
    // What ended the run is told; what then could not be ended well mostly follows from it.
    await runScope.end().catch((fault: Error) => say(fault.message))
    throw error
  } finally {
    clearTimeout(late)
  }
  await runScope.end()
  return run
}

function describe(facts: Record<string, unknown>): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name} ${value}`)
    .join(' · ')
}
