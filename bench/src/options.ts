import { parseArgs } from 'node:util'

export type Options = {
  /** Names of scenarios, in the order asked for. Empty: the default set. */
  scenarios: string[]
  all: boolean
  list: boolean
  help: boolean
  json: boolean
  save: boolean
  /** Measures what a release is measured with, at its sizes, and keeps the results and plots in the repository. */
  release: boolean
  /** Only draws the plots of the results that are kept. */
  plot: boolean
  profile: boolean
  /** How often each scenario is run. */
  runs: number
  /** Null: the scenario's own. */
  seconds: number | null
  /** The backlog of a drain. */
  deliveries: number
  /** Events a second of the latency scenario. Null: a tenth of the best, which is measured first. */
  rate: number | null
}

/** Something typed that cannot be meant: one line. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const flags = {
  all: { type: 'boolean' },
  list: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  save: { type: 'boolean' },
  release: { type: 'boolean' },
  plot: { type: 'boolean' },
  profile: { type: 'boolean' },
  runs: { type: 'string' },
  seconds: { type: 'string' },
  deliveries: { type: 'string' },
  rate: { type: 'string' },
} as const

/**
 * Reads the command line.
 * @param known the scenarios there are
 * @throws UsageError
 */
export function parseOptions(argv: readonly string[], known: readonly string[]): Options {
  // `pnpm bench -- --json` hands the two dashes on.
  const args = argv[0] === '--' ? argv.slice(1) : [...argv]
  const { values, positionals } = read(args)
  for (const name of positionals) {
    if (!known.includes(name)) throw new UsageError(`there is no scenario "${name}": there are ${known.join(', ')}`)
  }
  const all = values.all ?? false
  if (all && positionals.length > 0) throw new UsageError('--all runs every scenario: name none with it')
  const release = values.release ?? false
  for (const name of ['seconds', 'deliveries', 'rate', 'all', 'profile', 'save'] as const) {
    if (release && values[name] !== undefined) throw new UsageError(`--release has its own sizes: give no --${name}`)
  }
  return {
    scenarios: [...new Set(positionals)],
    all,
    list: values.list ?? false,
    help: values.help ?? false,
    json: values.json ?? false,
    save: values.save ?? false,
    release,
    plot: values.plot ?? false,
    profile: values.profile ?? false,
    runs: whole('runs', values.runs, 1, 100) ?? 1,
    seconds: whole('seconds', values.seconds, 1, 600),
    deliveries: whole('deliveries', values.deliveries, 1_000, 5_000_000) ?? 50_000,
    rate: whole('rate', values.rate, 1, 1_000_000),
  }
}

function read(args: string[]) {
  try {
    return parseArgs({ args, options: flags, allowPositionals: true, strict: true })
  } catch (error) {
    // Node's first sentence says what is wrong; what follows is about its own syntax.
    throw new UsageError((error as Error).message.split('. ')[0]!)
  }
}

function whole(name: string, text: string | undefined, min: number, max: number): number | null {
  if (text === undefined) return null
  const number = /^[0-9_]{1,12}$/.test(text) ? Number(text.replaceAll('_', '')) : Number.NaN
  if (number >= min && number <= max) return number
  throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, not "${text}"`)
}
