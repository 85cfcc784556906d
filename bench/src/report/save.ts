import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeVersions } from '../measure/machine.ts'
import type { Result } from './result.ts'

export const resultsFolder = fileURLToPath(new URL('../../results/', import.meta.url))

/** Of this version, and in the repository: what docs/performance.md is written from, and its plots are drawn from. */
export const releaseFolder = join(resultsFolder, describeVersions().posthorn)

/** `2026-11-29T1405`: sorts, and is a file's name everywhere. */
export function stamp(at: Date): string {
  return at.toISOString().slice(0, 16).replace(':', '')
}

/** @returns the file's path */
export function saveResult(result: Result): string {
  return write(resultsFolder, `${stamp(new Date(result.at))}-${result.scenario}`, result)
}

/** In place of what was measured of this version before. @returns the file's path */
export function saveReleaseResult(result: Result): string {
  return write(releaseFolder, result.scenario, result)
}

function write(folder: string, name: string, result: Result): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${name}.json`)
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
  return path
}
