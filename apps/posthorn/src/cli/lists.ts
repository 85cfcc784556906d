import type { Page } from '@posthorn/client'
import type { Command } from 'commander'
import { wholeNumber } from './arguments.ts'
import type { Column, Output } from './output.ts'

export type ListOptions = { limit: number; all?: boolean }

const defaultLimit = 50
/** What a page of the API may hold. */
export const maxPage = 200

export function isList(command: Command): Command {
  return command
    .option('-n, --limit <count>', 'how many at most', wholeNumber(1, 1_000_000), defaultLimit)
    .option('--all', 'all there are, page by page')
}

/** The size of the pages to ask for. */
export function pageSize({ limit, all }: ListOptions): number {
  return all ? maxPage : Math.min(limit, maxPage)
}

type Shown<T> = {
  columns: readonly Column<T>[]
  /** What is said where there is none. */
  none: string
  /** What stands below each, which then has the columns' names above it. */
  below?: (row: T) => string
}

/** Prints a list as far as it was asked for, each page when it is there. */
export async function printList<T>(
  out: Output,
  pages: AsyncIterable<Page<T>>,
  options: ListOptions,
  { columns, none, below }: Shown<T>,
): Promise<void> {
  let left = options.all ? Number.POSITIVE_INFINITY : options.limit
  let printed = 0
  for await (const { data, next_cursor } of pages) {
    const rows = data.slice(0, left)
    if (below === undefined) out.rows(rows, columns, printed === 0)
    else for (const row of rows) printWith(out, row, columns, below)
    await out.flushed()
    printed += rows.length
    left -= rows.length
    // Behind the last page of one list may stand another list.
    if (rows.length === data.length && (left > 0 || next_cursor === null)) continue
    out.note('... and there are more: --all, or a higher --limit')
    break
  }
  if (printed === 0) out.note(none)
}

function printWith<T>(out: Output, row: T, columns: readonly Column<T>[], below: (row: T) => string): void {
  out.rows([row], columns, true)
  out.item(row, () => below(row))
}
