import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Much that is dropped at once, and much that lives for a while, as in a process that sends or accepts thousands a second. */
const script = (bound: boolean) => `
import { getHeapSpaceStatistics } from 'node:v8'
import { boundHeap } from ${JSON.stringify(new URL('./heap-bounds.ts', import.meta.url).href)}
if (${bound}) boundHeap()
const kept = []
const size = (name) => getHeapSpaceStatistics().find(({ space_name }) => space_name === name).space_size
let old = 0
for (let turn = 0; turn < 400; turn++) {
  for (let n = 0; n < 40_000; n++) kept[(turn % 8) * 40_000 + n] = { turn, n }
  old = Math.max(old, size('old_space'))
  await new Promise(setImmediate)
}
console.log(JSON.stringify([size('new_space'), old]))`

function sizesMiB(bound: boolean, flags: string[] = []): { young: number; old: number } {
  const env = { PATH: process.env['PATH'] }
  const out = execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', script(bound)], { env })
  const [young, old] = JSON.parse(String(out)) as [number, number]
  return { young: young / 1_048_576, old: old / 1_048_576 }
}

test('the heap of a busy process stays small, unless a flag says otherwise', () => {
  const [bound, free] = [sizesMiB(true), sizesMiB(false)]
  expect(bound.young).toBeLessThanOrEqual(32)
  expect(free.young).toBeGreaterThan(bound.young)
  expect(free.old).toBeGreaterThan(bound.old * 1.2)
  expect(sizesMiB(true, ['--min-semi-space-size=64', '--max-semi-space-size=64']).young).toBe(128)
})
