import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The parts of V8's .cpuprofile that self-time needs. */
export type CpuProfile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  /** Microseconds before each sample. */
  timeDeltas: number[]
}

export type Frame = { name: string; where: string; selfMs: number; share: number }

/** The functions in which the process itself spent most, and their share of the time it was not idle. */
export function topFrames(profile: CpuProfile, count: number): { busyMs: number; frames: Frame[] } {
  const places = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const self = new Map<string, { name: string; where: string; us: number }>()
  let busyUs = 0
  for (const [at, id] of profile.samples.entries()) {
    const frame = places.get(id)
    const us = Math.max(0, profile.timeDeltas[at] ?? 0)
    if (frame === undefined || frame.functionName === '(idle)') continue
    busyUs += us
    const where = frame.url === '' ? '' : `${shortUrl(frame.url)}:${frame.lineNumber + 1}`
    const name = frame.functionName || '(anonymous)'
    const key = `${name} ${where}`
    const entry = self.get(key) ?? { name, where, us: 0 }
    entry.us += us
    self.set(key, entry)
  }
  const frames = [...self.values()]
    .sort((a, b) => b.us - a.us)
    .slice(0, count)
    .map(({ name, where, us }) => ({ name, where, selfMs: us / 1_000, share: us / Math.max(1, busyUs) }))
  return { busyMs: busyUs / 1_000, frames }
}

/** From the package or the workspace folder on. */
function shortUrl(url: string): string {
  const path = url.replace(/^file:\/\//, '')
  const packaged = path.lastIndexOf('/node_modules/')
  if (packaged >= 0) return path.slice(packaged + '/node_modules/'.length)
  return /\/((?:apps|packages|bench)\/.*)$/.exec(path)?.[1] ?? path
}

/** All profiles of a folder, as lines to print. */
export async function describeProfiles(folder: string): Promise<string[]> {
  const lines: string[] = []
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.cpuprofile')).sort()
  for (const name of names) {
    const { busyMs, frames } = topFrames(JSON.parse(await readFile(join(folder, name), 'utf8')) as CpuProfile, 25)
    lines.push(
      `${join(folder, name)}: ${Math.round(busyMs)} ms busy; self time of the first ${frames.length} functions:`,
    )
    for (const { name: fn, where, selfMs, share } of frames) {
      lines.push(`${(share * 100).toFixed(1).padStart(6)} %${selfMs.toFixed(0).padStart(8)} ms  ${fn}  ${where}`)
    }
  }
  return lines
}
