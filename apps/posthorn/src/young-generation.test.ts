import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const script = (bound: boolean) => `
import { getHeapSpaceStatistics } from 'node:v8'
import { boundYoungGeneration } from ${JSON.stringify(new URL('./young-generation.ts', import.meta.url).href)}
if (${bound}) boundYoungGeneration()
const kept = []
for (let turn = 0; turn < 400; turn++) {
  for (let n = 0; n < 40_000; n++) kept[n] = { turn, n }
  await new Promise(setImmediate)
}
console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size)`

function sizeMiB(bound: boolean, flags: string[] = []): number {
  const env = { PATH: process.env['PATH'] }
  const size = execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', script(bound)], { env })
  return Number(size) / 1_048_576
}

test('the young generation of a busy process stays small, unless a flag says otherwise', () => {
  expect(sizeMiB(true)).toBeLessThanOrEqual(16)
  expect(sizeMiB(true, ['--min-semi-space-size=16', '--max-semi-space-size=16'])).toBe(32)
})
