import { styleText } from 'node:util'

export type Failure = {
  code: string
  message: string
  /** What to do about it, where the message does not say. */
  todo?: string | undefined
  exitCode: number
  errors?: readonly unknown[]
}

export type Style = 'good' | 'bad' | 'doubtful' | 'quiet' | 'heading'

const formats = {
  good: 'green',
  bad: 'red',
  doubtful: 'yellow',
  quiet: 'gray',
  heading: 'bold',
} as const

export type Column<T> = {
  name: string
  of(row: T): string
  style?(row: T): Style | null
}

/** What a command prints: results on stdout, and what only accompanies them on stderr. */
export type Output = {
  json: boolean
  /** A result: as JSON on a line of its own, or as the text says it to people. */
  item(value: unknown, text: () => string): void
  /** Results, a line each; the first page has the columns' names above it. */
  rows<T>(rows: readonly T[], columns: readonly Column<T>[], isFirst: boolean): void
  /** For people alone, on stderr. */
  note(text: string): void
  failure(failure: Failure): void
  /** Resolves once all that was printed has been taken, or nobody takes it any more: a pager may take its time. */
  flushed(): Promise<void>
  style(style: Style, text: string): string
}

/** Colours come only where a terminal reads, and neither NO_COLOR nor NODE_DISABLE_COLORS forbids them. */
export function createOutput(json: boolean): Output {
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  const style = (name: Style, text: string): string => styleText(formats[name], text, { stream: process.stdout })
  return {
    json,
    style,
    item(value, text) {
      print(json ? JSON.stringify(value) : text())
    },
    rows(rows, columns, isFirst) {
      const lines = json ? rows.map((row) => JSON.stringify(row)) : table(rows, columns, isFirst, style)
      for (const line of lines) print(line)
    },
    note(text) {
      if (!json) process.stderr.write(`${printable(text)}\n`)
    },
    failure({ code, message: what, todo, errors = [] }) {
      const message = todo === undefined ? what : `${what}: ${todo}`
      const text = json ? JSON.stringify({ error: { code, message, errors } }) : `posthorn: ${message}`
      process.stderr.write(`${text}\n`)
    },
    async flushed() {
      for (const stream of [process.stdout, process.stderr]) {
        if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write('', () => resolve()))
      }
    },
  }
}

function table<T>(rows: readonly T[], columns: readonly Column<T>[], named: boolean, style: Output['style']): string[] {
  const cells = rows.map((row) => columns.map((column) => printable(column.of(row))))
  const widths = columns.map(({ name }, at) => Math.max(name.length, ...cells.map((line) => line[at]!.length)))
  const padded = (text: string, at: number): string => (at === columns.length - 1 ? text : text.padEnd(widths[at]!))
  const lines = rows.map((row, n) =>
    columns
      .map((column, at) => {
        const text = padded(cells[n]![at]!, at)
        const wanted = column.style?.(row) ?? null
        return wanted === null ? text : style(wanted, text)
      })
      .join('  ')
      .trimEnd(),
  )
  if (!named || rows.length === 0) return lines
  return [
    style(
      'heading',
      columns
        .map(({ name }, at) => padded(name, at))
        .join('  ')
        .trimEnd(),
    ),
    ...lines,
  ]
}

/** Control characters, and those that turn the direction of a line. */
const steering = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** What others have written must not steer a terminal. */
export function printable(text: string): string {
  return text.replaceAll(steering, '?')
}
