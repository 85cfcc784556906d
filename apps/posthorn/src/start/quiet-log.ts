import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createLog, type Log, type LogLevel } from '@posthorn/core'
import { StartFailure } from '../start-failure.ts'

const maxBytes = 10 * 1024 * 1024
const told = new Set(['warn', 'error', 'fatal'])

/**
 * The log of `start`: all of it in `<data>/posthorn.log`, one JSON object a line, and from `warn` on a line for people on
 * stderr too. The file holds at most 10 MiB; the one before it is kept beside it as `posthorn.log.old`.
 * @throws StartFailure when the data folder cannot be made
 */
export async function openQuietLog(level: LogLevel, dataDir: string): Promise<Log> {
  await mkdir(dataDir, { recursive: true }).catch((error: Error) => {
    throw new StartFailure(`POSTHORN_DATA_DIR: the folder ${dataDir} cannot be made: ${error.message}`)
  })
  const path = join(dataDir, 'posthorn.log')
  let file: { fd: number; bytes: number } | null = null

  function append(line: string): void {
    try {
      if (file !== null && file.bytes > maxBytes) {
        closeSync(file.fd)
        file = null
      }
      file ??= openLog(path)
      file.bytes += writeSync(file.fd, line)
    } catch {
      // A full disk must not end the deliveries.
    }
  }

  return createLog(level, {
    write(line) {
      append(line)
      const spoken = plainLine(line)
      if (spoken !== null) process.stderr.write(`${spoken}\n`)
    },
  })
}

function openLog(path: string): { fd: number; bytes: number } {
  const fd = openSync(path, 'a', 0o600)
  const bytes = fstatSync(fd).size
  if (bytes <= maxBytes) return { fd, bytes }
  closeSync(fd)
  renameSync(path, `${path}.old`)
  return { fd: openSync(path, 'a', 0o600), bytes: 0 }
}

/** `warning: <message> (<its fault>)`, or null for what people need not see. */
function plainLine(line: string): string | null {
  const { level, msg, err, reason } = JSON.parse(line) as {
    level: string
    msg?: string
    err?: { message?: string }
    reason?: string
  }
  if (!told.has(level)) return null
  const why = err?.message ?? reason
  return `${level === 'warn' ? 'warning' : 'error'}: ${msg ?? ''}${why ? ` (${why.split('\n', 1)[0]})` : ''}`
}
