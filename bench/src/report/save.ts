import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Result } from './result.ts'

export const resultsFolder = fileURLToPath(new URL('../../results/', import.meta.url))

/** `2026-11-29T1405`: sorts, and is a file's name everywhere. */
export function stamp(at: Date): string {
  return at.toISOString().slice(0, 16).replace(':', '')
}

/** @returns the file's path */
export function saveResult(result: Result): string {
  mkdirSync(resultsFolder, { recursive: true })
  const path = join(resultsFolder, `${stamp(new Date(result.at))}-${result.scenario}.json`)
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
  return path
}
