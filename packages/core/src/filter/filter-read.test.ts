import { describe, expect, test } from 'vitest'
import { costOf } from './filter.ts'
import { readFilter } from './filter-read.ts'

const at = (path: string, rest: object) => ({ path, ...rest })
const faultsOf = (filter: unknown): { at: string; message: string }[] => {
  const read = readFilter(typeof filter === 'string' ? filter : JSON.stringify(filter))
  if (!('faults' in read)) return expect.fail(`was taken: ${JSON.stringify(filter)}`)
  return read.faults.map((fault) => ({ at: fault.at.join('/'), message: fault.message }))
}
const nested = (levels: number): object => (levels === 0 ? at('/a', { exists: true }) : { not: nested(levels - 1) })
const equals = (n: number) => Array.from({ length: n }, (_, i) => at('/a', { equals: i }))

describe('a filter is kept as it was given', () => {
  test.each([
    '{"path":"/data/total","gte":100}',
    '{"path":"","exists":true}',
    '{"path":"/a~1b/~0","in":["x",1.50,null,true]}',
    '{"and":[{"or":[{"path":"/a","prefix":"x"}]},{"not":{"path":"/b","lt":"2026"}}]}',
    '{"gt":-1e-3,"path":"/a","lte":7615917337495251231,"equals":0}',
  ])('%s', (text) => {
    expect(readFilter(text)).toMatchObject({ text })
    // White space apart.
    expect(readFilter(text.replaceAll(',', ' ,\n'))).toMatchObject({ text })
  })
})

describe('a broken filter is refused, by its place', () => {
  test.each<[unknown, string]>([
    ['1', ''],
    ['"x"', ''],
    ['[]', ''],
    ['true', ''],
    [{}, ''],
    [at('/a', {}), ''],
    [{ equals: 1 }, 'path'],
    [at('a', { equals: 1 }), 'path'],
    [at('/a~', { equals: 1 }), 'path'],
    [at('/a~2b', { equals: 1 }), 'path'],
    ['{"path":1,"equals":1}', 'path'],
    [at('/a\0', { equals: 1 }), 'path'],
    [at('/\ud800', { equals: 1 }), 'path'],
    [at('/x'.repeat(31), { equals: 1 }), 'path'],
    [at(`/${'x'.repeat(512)}`, { equals: 1 }), 'path'],
    [at('/a', { matches: '.*' }), 'matches'],
    [at('/a', { equals: 1, like: 1 }), 'like'],
    ['{"path":"/a","equals":1,"__proto__":1}', '__proto__'],
    ['{"path":"/a","constructor":1}', 'constructor'],
    [at('/a', { equals: {} }), 'equals'],
    [at('/a', { equals: [1] }), 'equals'],
    [at('/a', { equals: 'x\0' }), 'equals'],
    [at('/a', { equals: '\udc00' }), 'equals'],
    [at('/a', { equals: 'x'.repeat(1_025) }), 'equals'],
    [`{"path":"/a","equals":${'1'.repeat(401)}}`, 'equals'],
    ['{"path":"/a","equals":1e401}', 'equals'],
    ['{"path":"/a","equals":1e-99999999999999999999}', 'equals'],
    [at('/a', { in: [] }), 'in'],
    [at('/a', { in: 'x' }), 'in'],
    [at('/a', { in: [1, [2]] }), 'in/1'],
    [at('/a', { in: Array.from({ length: 101 }, () => 1) }), 'in'],
    [at('/a', { exists: 1 }), 'exists'],
    [at('/a', { exists: null }), 'exists'],
    [at('/a', { prefix: '' }), 'prefix'],
    [at('/a', { prefix: 1 }), 'prefix'],
    [at('/a', { gt: true }), 'gt'],
    [at('/a', { lte: null }), 'lte'],
    [{ and: [] }, 'and'],
    [{ or: {} }, 'or'],
    [{ not: [] }, 'not'],
    [{ not: null }, 'not'],
    [{ and: [at('/a', { equals: 1 }), { or: [{ not: at('/a', { gt: [] }) }] }] }, 'and/1/or/0/not/gt'],
    [{ and: [at('/a', { equals: 1 })], path: '/a' }, 'path'],
    [{ and: [at('/a', { equals: 1 })], or: [at('/a', { equals: 1 })] }, 'or'],
  ])('%j', (filter, place) => {
    expect(faultsOf(filter)[0]?.at).toBe(place)
  })

  test('all that is wrong is told', () => {
    const faults = faultsOf({ and: [at('a', { equals: {} }), { or: [] }, 1] })
    expect(faults.map((fault) => fault.at).sort()).toEqual(['and/0/equals', 'and/0/path', 'and/1/or', 'and/2'])
  })
})

describe('a filter that is too costly is refused', () => {
  test.each<[string, unknown, boolean]>([
    ['12 conditions', { or: equals(12) }, true],
    ['13', { and: [{ or: equals(12) }, ...equals(1)] }, false],
    ['13 in one list', { or: equals(13) }, false],
    ['a thousand', { or: equals(1_000) }, false],
    ['a range, counted as two', { and: [...equals(10), at('/a', { gt: 1, lt: 2 })] }, true],
    ['a range beside 11', { and: [...equals(11), at('/a', { gt: 1, lt: 2 })] }, false],
    ['6 under a not', { not: { or: equals(6) } }, true],
    ['7 under a not', { not: { or: equals(7) } }, false],
    ['7 under two', { not: { not: { or: equals(7) } } }, true],
    ['12 of five steps', { or: Array.from({ length: 12 }, () => at('/a/b/c/d/e', { equals: 1 })) }, true],
    ['7 of six steps', { or: Array.from({ length: 7 }, () => at('/a/b/c/d/e/f', { equals: 1 })) }, false],
    ['30 steps', at('/x'.repeat(30), { equals: 1 }), true],
    ['100 values', at('/a', { in: Array.from({ length: 100 }, (_, i) => i) }), true],
    ['100 values twice', { or: [1, 2].map(() => at('/a', { in: Array.from({ length: 100 }, (_, i) => i) })) }, false],
    ['three steps of digits', at('/0/1/2', { exists: true }), true],
    ['four', at('/0/1/2/3', { exists: true }), false],
    ['thirty', at('/1'.repeat(30), { exists: true }), false],
    ['ten levels', nested(10), true],
    ['eleven', nested(11), false],
    ['a thousand', nested(1_000), false],
    ['8 KiB', { or: [1, 2, 3, 4, 5, 6, 7].map((n) => at('/a', { equals: `${n}${'x'.repeat(1_000)}` })) }, true],
    ['more', { or: [1, 2, 3, 4, 5, 6, 7, 8].map((n) => at('/a', { equals: `${n}${'é'.repeat(1_000)}` })) }, false],
  ])('%s', (_, filter, taken) => {
    const read = readFilter(JSON.stringify(filter))
    expect('faults' in read).toBe(!taken)
    if (!('faults' in read)) expect(costOf(read.filter)).toBeLessThanOrEqual(12)
  })
})
