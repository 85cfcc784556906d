import { expect, test } from 'vitest'
import { createFlushQueue } from './flush-queue.ts'

type Item = { name: string; events: number; bytes: number }

function queueUnderTest(options: { flights?: number; maxEvents?: number; maxBytes?: number } = {}) {
  const flushes: { names: string; land: () => void }[] = []
  let seen = 0
  const queue = createFlushQueue<Item>({
    flights: 1,
    maxEvents: 100,
    maxBytes: 100,
    ...options,
    flush: (batch) => new Promise((land) => flushes.push({ names: batch.map((item) => item.name).join(''), land })),
  })
  return {
    queue,
    push(names: string, size: { events?: number; bytes?: number } = {}) {
      for (const name of names) queue.push({ name, events: 1, bytes: 1, ...size })
    },
    /** The next flush that has begun. */
    async next() {
      while (flushes.length <= seen) await new Promise((resolve) => setImmediate(resolve))
      return flushes[seen++]!
    },
    begun: () => flushes.length,
  }
}

test('what comes in one turn goes together, and what waits goes when a flight has landed', async () => {
  const { push, next, begun } = queueUnderTest()
  push('abc')
  const first = await next()
  expect(first.names).toBe('abc')
  push('de')
  await new Promise((resolve) => setImmediate(resolve))
  expect(begun()).toBe(1)
  first.land()
  expect((await next()).names).toBe('de')
})

test('no more flights than allowed are under way', async () => {
  const { push, next, begun } = queueUnderTest({ flights: 2, maxEvents: 1 })
  push('abc')
  const first = await next()
  await next()
  await new Promise((resolve) => setImmediate(resolve))
  expect(begun()).toBe(2)
  first.land()
  expect((await next()).names).toBe('c')
})

test('what comes while many are under way waits for them, unless it is many as well', async () => {
  const { push, next, begun } = queueUnderTest({ flights: 2 })
  push('a'.repeat(8))
  const first = await next()
  push('b'.repeat(63))
  await new Promise((resolve) => setImmediate(resolve))
  expect(begun()).toBe(1)
  first.land()
  expect((await next()).names).toBe('b'.repeat(63))
  push('c'.repeat(64))
  expect((await next()).names).toBe('c'.repeat(64))
})

test('a flush is bounded in events and bytes, in the order of arrival, and one that is larger goes by itself', async () => {
  for (const [options, unit] of [
    [{ maxEvents: 10 }, 'events'],
    [{ maxBytes: 10 }, 'bytes'],
  ] as const) {
    const { push, next } = queueUnderTest(options)
    push('abc', { [unit]: 4 })
    push('X', { [unit]: 50 })
    push('d', { [unit]: 4 })
    for (const names of ['ab', 'c', 'X', 'd']) {
      const flush = await next()
      expect(flush.names).toBe(names)
      flush.land()
    }
  }
})

test('idle waits for what waits and for what is under way', async () => {
  const { queue, push, next } = queueUnderTest({ maxEvents: 1 })
  await queue.idle()
  push('ab')
  let idle = false
  const waiting = queue.idle().then(() => {
    idle = true
  })
  const first = await next()
  first.land()
  const second = await next()
  expect(idle).toBe(false)
  second.land()
  await waiting
})
