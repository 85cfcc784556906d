import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drawLines, type LinePlot } from './line-plot.ts'
import type { Result } from './result.ts'
import { releaseFolder } from './save.ts'

const plotsFolder = fileURLToPath(new URL('../../../docs/performance/', import.meta.url))

type Details = Result['details']

/** The plots of docs/performance.md: of which scenario, and how. */
const plots: readonly { file: string; scenario: string; plot(details: Details): LinePlot }[] = [
  {
    file: 'endpoints.svg',
    scenario: 'drain-endpoints',
    plot: (details) => ({
      title: 'A backlog over so many endpoints, drained by one dispatcher',
      x: { label: 'endpoints', log: true },
      y: { label: 'deliveries a second' },
      lines: [{ name: 'deliveries', points: pairs(details['by_endpoints'], 'endpoints', 'per_s') }],
    }),
  },
  {
    file: 'backlog.svg',
    scenario: 'backlog',
    plot: (details) => ({
      title: 'Claims of 200 deliveries, while so many wait',
      x: { label: 'deliveries waiting', log: true },
      y: { label: 'claims a second' },
      lines: [{ name: 'claims', points: pairs(details['claims'], 'waiting', 'claims_per_s') }],
    }),
  },
  {
    file: 'held.svg',
    scenario: 'held',
    plot: (details) => ({
      title: 'Claims and settles beside a transaction that is held open',
      x: { label: 'seconds since it began' },
      y: { label: 'deliveries a second' },
      lines: [
        { name: 'none held', points: series(details, 'without_per_s') },
        { name: 'one that has read', points: series(details, 'reading_per_s') },
        { name: 'one that has written', points: series(details, 'writing_per_s') },
      ],
    }),
  },
]

/** Draws what the release's results are there for. @returns the files, and the scenarios without a result */
export function drawPlots(): { drawn: string[]; missing: string[] } {
  const drawn: string[] = []
  const missing: string[] = []
  mkdirSync(plotsFolder, { recursive: true })
  for (const { file, scenario, plot } of plots) {
    const kept = join(releaseFolder, `${scenario}.json`)
    if (!existsSync(kept)) {
      missing.push(scenario)
      continue
    }
    const { details } = JSON.parse(readFileSync(kept, 'utf8')) as Result
    writeFileSync(join(plotsFolder, file), drawLines(plot(details)))
    drawn.push(join(plotsFolder, file))
  }
  return { drawn, missing }
}

function pairs(records: unknown, x: string, y: string): [number, number][] {
  return (records as Record<string, number>[]).map((record) => [record[x]!, record[y]!])
}

/** Each point stands in the middle of the seconds that it is the mean of. */
function series(details: Details, name: string): [number, number][] {
  const seconds = details['seconds_per_point'] as number
  return (details[name] as number[]).map((value, at) => [(at + 0.5) * seconds, value])
}
