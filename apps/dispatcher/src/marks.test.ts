import { expect, test } from 'vitest'
import { createMarks } from './marks.ts'

test('a mark is safe once every transaction that is older has ended, and not before', () => {
  const marks = createMarks()
  marks.add({ ticket: 100n, xid: 50n, xmin: 40n, atMs: 1_000 })
  expect(marks.safe()).toBe(0n)
  // Transaction 45 still runs: it may have drawn a ticket up to 100.
  marks.add({ ticket: 200n, xid: 60n, xmin: 45n, atMs: 2_000 })
  expect(marks.safe()).toBe(0n)
  marks.add({ ticket: 300n, xid: 70n, xmin: 51n, atMs: 3_000 })
  expect([marks.safe(), marks.safeAtMs()]).toEqual([100n, 1_000])
  marks.add({ ticket: 300n, xid: 80n, xmin: 80n, atMs: 4_000 })
  expect([marks.safe(), marks.safeAtMs()]).toEqual([300n, 3_000])
  expect(marks.newest()).toBe(300n)
})

test('a transaction held open for a day keeps the list of marks bounded, and none is safe meanwhile', () => {
  const marks = createMarks()
  for (let second = 0; second < 86_400; second++) {
    marks.add({ ticket: BigInt(second * 10), xid: BigInt(1000 + second), xmin: 999n, atMs: second })
  }
  expect(marks.safe()).toBe(0n)
  marks.add({ ticket: 900_000n, xid: 100_000n, xmin: 100_000n, atMs: 86_400 })
  expect(marks.safe()).toBeGreaterThan(860_000n)
})
