import type { Scenario } from '../scenario.ts'
import type { Result } from './result.ts'

/** Columns as wide as their widest cell; numbers stand to the right. */
export function formatTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[],
): string {
  const widths = head.map((cell, at) => Math.max(cell.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (right.includes(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd()
  return [line(head), widths.map((width) => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

/** A line a scenario: what it reached, and what it was to reach. */
export function formatResults(results: readonly { scenario: Scenario; result: Result }[]): string {
  const head = ['scenario', 'value', 'unit', 'ratio', 'target', '', 'runs', 'spread']
  const rows = results.map(({ scenario, result }) => [
    result.scenario,
    formatNumber(result.value),
    result.unit,
    result.ratio === null ? '' : `${result.ratio.toFixed(3)} of ${result.yardstick}`,
    scenario.targets
      .map(({ is, label }, at) => {
        const { reached, metric } = result.target[at]!
        return `${is === 'least' ? '≥' : '<'} ${label}${metric === 'ratio' ? '' : ` (${formatNumber(reached)})`}`
      })
      .join(', '),
    result.pass === null ? '' : result.pass ? 'pass' : 'MISSED',
    String(result.runs),
    result.runs > 1 ? `${(result.spread * 100).toFixed(0)} %` : '',
  ])
  return formatTable(head, rows, [1, 6, 7])
}

/** What explains a figure, one line each. */
export function formatDetails(details: Record<string, unknown>): string {
  const names = Object.keys(details)
  const width = Math.max(0, ...names.map((name) => name.length))
  return names.map((name) => `    ${name.padEnd(width)}  ${formatValue(details[name])}`).join('\n')
}

function formatValue(value: unknown): string {
  if (typeof value === 'number') return formatNumber(value)
  if (Array.isArray(value) && value.every((each) => typeof each === 'number')) return value.map(formatNumber).join(' ')
  if (Array.isArray(value)) return value.map((each) => `\n      ${formatRecord(each)}`).join('')
  if (typeof value === 'object' && value !== null) return formatRecord(value)
  return String(value)
}

function formatRecord(value: object): string {
  return Object.entries(value)
    .map(([name, each]) => `${name} ${typeof each === 'number' ? formatNumber(each) : String(each).slice(0, 160)}`)
    .join('  ')
}

export function formatNumber(value: number): string {
  return value.toLocaleString('en', {
    maximumFractionDigits: Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 1 ? 2 : 4,
  })
}
