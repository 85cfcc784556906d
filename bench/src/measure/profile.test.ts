import { expect, test } from 'vitest'
import { topFrames } from './profile.ts'

const frame = (functionName: string, url = '', lineNumber = -1) => ({ functionName, url, lineNumber })

test('self time is summed by function, and idle time is nobody’s', () => {
  const { busyMs, frames } = topFrames(
    {
      nodes: [
        { id: 1, callFrame: frame('(idle)') },
        { id: 2, callFrame: frame('sign', 'file:///x/posthorn/packages/core/src/signing/signer.ts', 9) },
        { id: 3, callFrame: frame('sign', 'file:///x/posthorn/packages/core/src/signing/signer.ts', 9) },
        { id: 4, callFrame: frame('write', 'file:///x/node_modules/.pnpm/undici@8/node_modules/undici/lib/h1.js', 4) },
        { id: 5, callFrame: frame('(garbage collector)') },
      ],
      samples: [1, 2, 3, 4, 5, 2],
      timeDeltas: [5_000, 1_000, 2_000, 3_000, 1_000, 3_000],
    },
    2,
  )
  expect(busyMs).toBe(10)
  expect(frames).toEqual([
    { name: 'sign', where: 'packages/core/src/signing/signer.ts:10', selfMs: 6, share: 0.6 },
    { name: 'write', where: 'undici/lib/h1.js:5', selfMs: 3, share: 0.3 },
  ])
})
