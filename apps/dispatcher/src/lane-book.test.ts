import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLaneBook, type LaneBook, type LaneReport } from './lane-book.ts'

let book: LaneBook

beforeEach(() => {
  vi.useFakeTimers()
  book = createLaneBook({ random: () => 0.5, now: () => performance.now(), onQueued: () => undefined })
})

afterEach(() => {
  book.stop()
  vi.useRealTimers()
})

/** A claim's answer for one lane: emptied, unless told otherwise. */
function emptied(endpointId: string, rest: Partial<LaneReport> = {}): LaneReport {
  return { endpointId, taken: 0, asked: 10, room: 10, nextReady: 0n, lowestLeased: null, ...rest }
}

const ids = (aims: { endpointId: string }[]): string[] => aims.map((aim) => aim.endpointId)

test('a lane offered is handed out once, and again only when it was reported and offered again', () => {
  book.offer('a', 'doorbell')
  book.offer('a', 'sweep')
  expect(ids(book.next(10, 'safe'))).toEqual(['a'])
  expect(book.next(10, 'safe')).toEqual([])
  book.report(emptied('a'), 0n, 0n, false)
  // The sweep saw it before that claim began, and the claim looked from the safe watermark.
  expect(book.next(10, 'safe')).toEqual([])
  book.offer('a', 'doorbell')
  expect(ids(book.next(10, 'safe'))).toEqual(['a'])
})

test('a lane offered while it is tried is tried again', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.offer('a', 'doorbell')
  book.report(emptied('a'), 0n, 0n, false)
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
})

test('a lane that gave all that was asked is tried again without being offered', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 50n }), 0n, 0n, false)
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
})

test('safe rises to the mark when the lane was emptied, and no further than the taking when it was not', () => {
  book.offer('a', 'doorbell')
  expect(book.next(1, 'safe')[0]!.readyFrom).toBe(0n)
  book.report(emptied('a', { taken: 10, nextReady: 50n }), 100n, 120n, false)
  expect(book.next(1, 'safe')[0]!.readyFrom).toBe(50n)
  book.report(emptied('a', { taken: 10, nextReady: 190n }), 150n, 200n, false)
  expect(book.next(1, 'safe')[0]!.readyFrom).toBe(150n)
  book.report(emptied('a', { taken: 3, nextReady: 195n }), 180n, 200n, false)
  book.offer('a', 'doorbell')
  expect(book.next(1, 'safe')[0]!.readyFrom).toBe(180n)
})

test('a claim from fast never moves safe', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 50n }), 20n, 60n, false)
  expect(book.next(1, 'fast')[0]!.readyFrom).toBe(50n)
  book.report(emptied('a', { taken: 10, nextReady: 70n }), 65n, 80n, false)
  expect(book.next(1, 'safe')[0]!.readyFrom).toBe(20n)
})

test('what a claim cut short by its limit leaves does not move safe past it, and is tried first', () => {
  for (const id of ['a', 'b', 'c']) book.offer(id, 'doorbell')
  book.next(10, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 50n }), 500n, 600n, true)
  book.report(emptied('b', { taken: 4, nextReady: 40n }), 500n, 600n, true)
  book.report(emptied('c', { taken: 0 }), 500n, 600n, true)
  const aims = book.next(10, 'safe')
  expect(ids(aims)).toEqual(['b', 'c', 'a'])
  expect(aims.map((aim) => aim.readyFrom)).toEqual([40n, 0n, 50n])
})

test('what a claim from safe leaves below fast is looked for by the next, whichever way', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 90n }), 0n, 100n, false)
  book.next(1, 'safe')
  // Slow transactions have brought more than was asked.
  book.report(emptied('a', { taken: 10, nextReady: 40n }), 100n, 120n, false)
  expect(book.next(1, 'fast')[0]!.readyFrom).toBe(40n)
})

test('a claim that took nothing, for its limit was reached, has not looked for what the sweep saw', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 90n }), 20n, 100n, false)
  book.offer('a', 'sweep')
  book.next(1, 'safe')
  book.report(emptied('a'), 20n, 100n, true)
  book.next(1, 'fast')
  book.report(emptied('a'), 20n, 100n, false)
  expect(book.next(1, 'fast')[0]!.readyFrom).toBe(20n)
})

test('what the sweep sees at an idle lane is looked for from the safe watermark', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 3, nextReady: 90n }), 20n, 100n, false)
  book.offer('a', 'sweep')
  expect(book.next(1, 'fast')[0]!.readyFrom).toBe(20n)
})

test('what the sweep sees at a lane that is not idle is looked for from the safe watermark before the lane is idle', () => {
  for (const seen of ['queued', 'trying', 'full', 'locked'] as const) {
    const id = `lane ${seen}`
    book.offer(id, 'doorbell')
    book.next(1, 'safe')
    book.report(emptied(id, { taken: 10, nextReady: 90n }), 20n, 100n, false)
    if (seen === 'queued') book.offer(id, 'sweep')
    book.next(1, 'fast')
    if (seen === 'trying') book.offer(id, 'sweep')
    if (seen === 'full') {
      book.report(emptied(id, { asked: 0, room: 0 }), 20n, 100n, false)
      book.offer(id, 'sweep')
      book.offer(id, 'own')
      book.next(1, 'fast')
    }
    if (seen === 'locked') {
      book.miss(id)
      book.offer(id, 'sweep')
      vi.advanceTimersByTime(1_000)
      book.next(1, 'fast')
    }
    book.report(emptied(id), 20n, 100n, false)
    const [aim] = book.next(1, 'fast')
    expect(aim, seen).toMatchObject({ endpointId: id, readyFrom: 20n })
    book.report(emptied(id), 20n, 100n, false)
    expect(book.next(1, 'fast')).toEqual([])
  }
})

test('what the sweep saw is not forgotten when the claim from safe fails or the lane is locked', () => {
  for (const fault of ['restored', 'missed'] as const) {
    book.offer(fault, 'doorbell')
    book.next(1, 'safe')
    book.report(emptied(fault, { taken: 10, nextReady: 90n }), 20n, 100n, false)
    book.offer(fault, 'sweep')
    const aims = book.next(1, 'safe')
    if (fault === 'restored') book.restore(aims)
    else book.miss(fault)
    vi.advanceTimersByTime(1_000)
    book.next(1, 'fast')
    book.report(emptied(fault), 20n, 100n, false)
    expect(book.next(1, 'fast')[0]).toMatchObject({ endpointId: fault, readyFrom: 20n })
    book.report(emptied(fault), 20n, 100n, false)
  }
})

test('what the sweep from the first ticket sees is looked for from the first ticket', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 90n }), 20n, 100n, false)
  book.offer('a', 'sweep-all')
  expect(book.next(1, 'safe')[0]!.readyFrom).toBe(20n)
  book.report(emptied('a'), 30n, 100n, false)
  expect(book.next(1, 'safe')[0]!.readyFrom).toBe(0n)
  book.report(emptied('a'), 30n, 100n, false)
  expect(book.next(1, 'safe')).toEqual([])
  book.offer('a', 'sweep-all')
  expect(book.next(1, 'fast')[0]!.readyFrom).toBe(0n)
})

test('a lane at its cap rests, and our own settle wakes it; a settle at an idle lane wakes nothing', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { asked: 0, room: 0, lowestLeased: 7n }), 0n, 0n, false)
  expect(book.next(1, 'safe')).toEqual([])
  book.offer('a', 'own')
  expect(book.next(1, 'safe')[0]).toMatchObject({ endpointId: 'a', leasedFrom: 7n })
  book.report(emptied('a', { asked: 0, room: 0 }), 0n, 0n, false)
  vi.advanceTimersByTime(2_000)
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
  book.report(emptied('a'), 0n, 0n, false)
  book.offer('a', 'own')
  expect(book.next(1, 'safe')).toEqual([])
})

test('leases are counted from the lowest live one, and with none from the last ticket drawn before the claim', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 9n, lowestLeased: 30n }), 5n, 40n, false)
  expect(book.next(1, 'safe')[0]!.leasedFrom).toBe(30n)
  book.report(emptied('a', { taken: 10, nextReady: 9n, lowestLeased: null }), 5n, 40n, false)
  expect(book.next(1, 'safe')[0]!.leasedFrom).toBe(40n)
  book.report(emptied('a', { taken: 10, nextReady: 9n, lowestLeased: null }), 5n, 35n, false)
  expect(book.next(1, 'safe')[0]!.leasedFrom).toBe(40n)
})

test('a lane held is left alone for that long, whoever offers it, and then tried', () => {
  for (const found of ['doorbell', 'sweep', 'sweep-all', 'own'] as const) {
    const id = `held ${found}`
    book.offer(id, 'doorbell')
    book.hold(id, 5_000)
    expect(book.next(1, 'safe')).toEqual([])
    book.offer(id, found)
    vi.advanceTimersByTime(4_900)
    expect(book.next(1, 'safe')).toEqual([])
    vi.advanceTimersByTime(200)
    expect(ids(book.next(1, 'safe'))).toEqual([id])
    book.report(emptied(id), 0n, 0n, false)
    for (const aim of book.next(9, 'safe')) book.report(emptied(aim.endpointId), 0n, 0n, false)
  }
})

test('a hold while the lane is tried is kept after it', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.hold('a', 3_000)
  book.report(emptied('a', { taken: 10, nextReady: 9n }), 0n, 0n, false)
  expect(book.next(1, 'safe')).toEqual([])
  vi.advanceTimersByTime(3_100)
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
})

test('a lane that cannot be claimed from is tried less and less, and in the end left to the doorbell and the sweep', () => {
  book.offer('a', 'doorbell')
  const pausesMs: number[] = []
  let since = 0
  for (let ms = 0; ms < 600_000; ms++) {
    if (book.next(1, 'safe').length > 0) {
      pausesMs.push(ms - since)
      since = ms
      book.miss('a')
    }
    vi.advanceTimersByTime(1)
  }
  expect(pausesMs.length).toBeLessThan(20)
  expect(Math.max(...pausesMs)).toBeLessThanOrEqual(15_001)
  expect(vi.getTimerCount()).toBe(0)
  book.offer('a', 'doorbell')
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
})

test('the doorbell shortens the rest of a lane that was closed for long', () => {
  book.offer('a', 'doorbell')
  for (let turn = 0; turn < 9; turn++) {
    book.next(1, 'safe')
    book.miss('a')
    if (turn < 8) vi.advanceTimersByTime(4_100)
  }
  expect(book.next(1, 'safe')).toEqual([])
  book.offer('a', 'doorbell')
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
})

test('a stopped book keeps no timer and hands out nothing', () => {
  book.offer('a', 'doorbell')
  book.hold('b', 1_000)
  book.next(1, 'safe')
  book.stop()
  book.offer('c', 'doorbell')
  book.hold('c', 10)
  book.report(emptied('a', { taken: 10, nextReady: 9n }), 0n, 0n, false)
  book.miss('a')
  expect(vi.getTimerCount()).toBe(0)
  expect(book.next(10, 'safe')).toEqual([])
})

test('a blocked lane is left alone until its block has passed, whoever rings meanwhile', () => {
  book.block('a', 5_000)
  book.offer('a', 'doorbell')
  book.offer('a', 'own')
  expect(book.next(10, 'safe')).toEqual([])
  vi.advanceTimersByTime(4_999)
  expect(book.next(10, 'safe')).toEqual([])
  vi.advanceTimersByTime(1)
  expect(ids(book.next(10, 'safe'))).toEqual(['a'])
})

test('a sweep that sees a blocked lane open ends its block here, but not a hold', () => {
  book.block('a', 900_000)
  book.hold('b', 900_000)
  for (const id of ['a', 'b']) book.offer(id, 'sweep')
  expect(ids(book.next(10, 'safe'))).toEqual(['a'])
})

test('a lane that is blocked while it is tried, or queued, rests until its block has passed', () => {
  for (const id of ['a', 'b']) book.offer(id, 'doorbell')
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
  for (const id of ['a', 'b']) book.block(id, 5_000)
  book.report(emptied('a', { taken: 10 }), 0n, 0n, false)
  expect(book.next(10, 'safe')).toEqual([])
  vi.advanceTimersByTime(5_000)
  expect(ids(book.next(10, 'safe')).sort()).toEqual(['a', 'b'])
})

test('a limited lane that gave its last token is tried again when the next is there', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.hold('a', 100)
  book.report(emptied('a', { taken: 0, asked: 0 }), 0n, 0n, false)
  expect(book.next(10, 'safe')).toEqual([])
  book.offer('a', 'sweep')
  expect(book.next(10, 'safe')).toEqual([])
  vi.advanceTimersByTime(100)
  expect(ids(book.next(10, 'safe'))).toEqual(['a'])
})

test('a lane that has its share of our slots is tried again when one of its own is settled, or after a while', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.defer('a')
  expect(book.next(10, 'safe')).toEqual([])
  book.offer('a', 'own')
  expect(ids(book.next(10, 'safe'))).toEqual(['a'])
  book.defer('a')
  vi.advanceTimersByTime(100)
  expect(ids(book.next(10, 'safe'))).toEqual(['a'])
})

test('an ordered lane is always claimed from its safe watermark', () => {
  book.offer('a', 'doorbell')
  expect(book.next(1, 'fast')[0]).toMatchObject({ readyFrom: 0n, safeFrom: 0n, rewound: null })
  book.report(emptied('a', { taken: 10, nextReady: 190n, rewound: 0 }), 150n, 200n, false)
  expect(book.next(1, 'fast')[0]).toMatchObject({ readyFrom: 150n, safeFrom: 150n, rewound: 0 })
  book.report(emptied('a', { taken: 3, nextReady: 195n, rewound: 0 }), 180n, 200n, false)
  book.offer('a', 'doorbell')
  expect(book.next(1, 'fast')[0]).toMatchObject({ readyFrom: 180n, rewound: 0 })
})

test('a lane that was rewound is known from the first ticket again, as the claim that said so has looked', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 10, nextReady: 190n, rewound: 0 }), 180n, 200n, false)
  expect(book.next(1, 'safe')[0]).toMatchObject({ safeFrom: 180n })
  // Rows came back far below.
  book.report(emptied('a', { taken: 10, nextReady: 20n, rewound: 1 }), 180n, 200n, false)
  expect(book.next(1, 'safe')[0]).toMatchObject({ safeFrom: 20n, rewound: 1 })
  // Not ordered any more: the claim looked from where it was, and so has seen nothing below.
  book.report(emptied('a'), 180n, 200n, false)
  book.offer('a', 'doorbell')
  expect(book.next(1, 'fast')[0]).toMatchObject({ readyFrom: 0n, safeFrom: 0n, rewound: null })
})

test('a strict lane whose head waits is left alone until it is offered, and keeps its watermark', () => {
  book.offer('a', 'doorbell')
  book.next(1, 'safe')
  book.report(emptied('a', { taken: 1, asked: 1, room: 0, nextReady: 50n, rewound: 0 }), 100n, 120n, false)
  book.offer('a', 'own')
  book.next(1, 'safe')
  book.report(emptied('a', { asked: 0, rewound: 0, stuck: true }), 150n, 160n, false)
  vi.advanceTimersByTime(60_000)
  expect(book.next(1, 'safe')).toEqual([])
  book.offer('a', 'own')
  expect(book.next(1, 'safe')).toEqual([])
  book.offer('a', 'doorbell')
  expect(book.next(1, 'safe')[0]).toMatchObject({ safeFrom: 50n })
  // Offered while it was tried.
  book.offer('a', 'doorbell')
  book.report(emptied('a', { asked: 0, rewound: 0, stuck: true }), 150n, 160n, false)
  expect(ids(book.next(1, 'safe'))).toEqual(['a'])
})
