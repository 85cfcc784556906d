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

/** Prints a list as far as it was asked for, each page when it is there. */
export async function printList<T>(
  out: Output,
  pages: AsyncIterable<Page<T>>,
  options: ListOptions,
  { columns, none }: { columns: readonly Column<T>[]; none: string },
): Promise<void> {
  let left = options.all ? Number.POSITIVE_INFINITY : options.limit
  let printed = 0
  for await (const { data, next_cursor } of pages) {
    const rows = data.slice(0, left)
    out.rows(rows, columns, printed === 0)
    await out.flushed()
    printed += rows.length
    left -= rows.length
    if (left > 0) continue
    if (next_cursor !== null || rows.length < data.length)
      out.note(`... and there are more: --all, or a higher --limit`)
    break
  }
  if (printed === 0) out.note(none)
}
