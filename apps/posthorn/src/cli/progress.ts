/** Shows how far something is, on stderr. */
export type Progress = {
  /** @param total null while it is not known */
  update(done: number, total: number | null): void
  /** Leaves what was shown last on a line of its own. */
  end(): void
}

const width = 30

/**
 * On a terminal a bar that is drawn over itself; else a line whenever a further tenth is done, so that a log stays short.
 * @param label what is counted
 */
export function createProgress(label: string, stream: NodeJS.WriteStream = process.stderr): Progress {
  let last = ''
  return {
    update(done, total) {
      const text = stream.isTTY ? bar(done, total, label) : plain(done, total, label)
      if (text === last) return
      stream.write(stream.isTTY ? `\r\u001b[K${text}` : `${text}\n`)
      last = text
    },
    end() {
      if (stream.isTTY && last !== '') stream.write('\n')
    },
  }
}

function shareOf(done: number, total: number): number {
  return total === 0 ? 1 : Math.min(1, done / total)
}

function bar(done: number, total: number | null, label: string): string {
  if (total === null) return `[${' '.repeat(width)}] counting`
  const share = shareOf(done, total)
  const filled = Math.round(share * width)
  return `[${'█'.repeat(filled)}${' '.repeat(width - filled)}] ${Math.floor(share * 100)} % · ${done} of ${total} ${label}`
}

function plain(done: number, total: number | null, label: string): string {
  if (total === null) return 'counting'
  const tenths = Math.floor(shareOf(done, total) * 10)
  return `${tenths * 10} % of ${total} ${label}`
}
