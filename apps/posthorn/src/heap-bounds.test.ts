import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Much that is dropped at once, and much that lives for a while, as in a process that sends or accepts thousands a second. */
const script = `
import { getHeapSpaceStatistics } from 'node:v8'
import { boundHeap } from ${JSON.stringify(new URL('./heap-bounds.ts', import.meta.url).href)}
boundHeap()
const kept = []
const size = (name) => getHeapSpaceStatistics().find(({ space_name }) => space_name === name).space_size
let young = 0, old = 0
for (let turn = 0; turn < 400; turn++) {
  for (let n = 0; n < 40_000; n++) kept[(turn % 8) * 40_000 + n] = { turn, n }
  // At their largest: a collector that has time gives some back.
  young = Math.max(young, size('new_space'))
  old = Math.max(old, size('old_space'))
  await new Promise(setImmediate)
}
console.log(JSON.stringify([young, old]))`

function sizesMiB(flags: string[] = []): { young: number; old: number } {
  const env = { PATH: process.env['PATH'] }
  const out = execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', script], { env })
  const [young, old] = JSON.parse(String(out)) as [number, number]
  return { young: young / 1_048_576, old: old / 1_048_576 }
}

test('the heap of a busy process stays small, unless a flag says otherwise', () => {
  const bound = sizesMiB()
  // A page more while one is being left.
  expect(bound.young).toBeLessThanOrEqual(34)
  // 53 to 68; left alone, 102 to 139.
  expect(bound.old).toBeLessThan(90)
  expect(sizesMiB(['--min-semi-space-size=64', '--max-semi-space-size=64']).young).toBe(128)
})
