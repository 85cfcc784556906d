import { randomUUID } from 'node:crypto'
import { transaction } from '@posthorn/core/db'
import { publishMany } from '@posthorn/core/sql'
import { describe, expect, test } from 'vitest'
import { useBench } from './claim-fixture.ts'
import { addFiltered, eventOf, type FilterInput, publishInSql, publishLikeApi } from './filter-fixture.ts'

/*
 * Which payloads meet which filters, for events that enter by the API's statement and by posthorn.publish. What filters mean is
 * docs/filters.md; its examples are run by test/api/filter-docs.test.ts.
 */

const bench = useBench()

const deep = (levels: number, inside: string) => `${'{"a":'.repeat(levels)}${inside}${'}'.repeat(levels)}`
const path = (path: string, rest: object) => ({ path, ...rest })

type Row = [filter: FilterInput, met: readonly string[], unmet: readonly string[]]

const table: Record<string, Row[]> = {
  equality: [
    [
      path('/a', { equals: 'x' }),
      ['{"a":"x"}', String.raw`{"\u0061":"\u0078"}`],
      ['{"a":"X"}', '{"a":"x "}', '{"a":["x"]}'],
    ],
    [
      path('/a', { equals: 1 }),
      ['{"a":1}', '{"a":1.0}', '{"a":10e-1}'],
      ['{"a":"1"}', '{"a":true}', '{"a":1.0000001}'],
    ],
    [path('/a', { equals: 0 }), ['{"a":-0}', '{"a":0.00}'], ['{"a":false}', '{"a":null}', '{"a":""}']],
    [path('/a', { equals: true }), ['{"a":true}'], ['{"a":false}', '{"a":1}', '{"a":"true"}']],
    [path('/a', { equals: null }), ['{"a":null}'], ['{}', '{"a":0}', '{"a":{}}', '{"a":[]}', '{"a":"null"}']],
    [path('/a', { equals: 'e\u0301' }), [String.raw`{"a":"e\u0301"}`], ['{"a":"é"}']],
    [
      path('/a', { equals: '\u{1f60a}' }),
      [String.raw`{"a":"\ud83d\ude0a"}`, '{"a":"\u{1f60a}"}'],
      ['{"a":"\u{1f60b}"}'],
    ],
    [path('', { equals: 5 }), ['5', ' 5.0 '], ['"5"', '[5]', '{"":5}']],
  ],
  'big numbers, to the last digit': [
    ['{"path":"/id","equals":7615917337495251231}', ['{"id":7615917337495251231}'], ['{"id":7615917337495251232}']],
    ['{"path":"/id","gt":9007199254740992}', ['{"id":9007199254740993}'], ['{"id":9007199254740992}']],
    [
      `{"path":"/id","in":[1,${'9'.repeat(309)}]}`,
      [`{"id":${'9'.repeat(309)}}`],
      [`{"id":${'9'.repeat(308)}8}`, '{"id":1e309}'],
    ],
    ['{"path":"/id","lt":1e400}', ['{"id":1e399}', '{"id":-1e400}'], ['{"id":1e400}', '{"id":1e401}']],
    ['{"path":"/id","gt":0}', ['{"id":1e-400}'], ['{"id":-1e-400}', '{"id":0}']],
  ],
  'one of several': [
    [
      path('/a', { in: ['x', 2, null] }),
      ['{"a":"x"}', '{"a":2.0}', '{"a":null}'],
      ['{"a":"y"}', '{"a":"2"}', '{}', '{"a":[2]}'],
    ],
  ],
  existence: [
    [path('/a', { exists: true }), ['{"a":null}', '{"a":[]}', '{"a":0}'], ['{}', '[]', '"a"', 'null']],
    [path('/a', { exists: false }), ['{}', '[]', '"a"', '1', 'null', '{"A":1}'], ['{"a":null}']],
    [path('/a/b', { exists: false }), ['{}', '{"a":1}', '{"a":[{"b":1}]}', '{"a":null}'], ['{"a":{"b":null}}']],
    [path('', { exists: true }), ['null', '{}'], []],
    [path('', { exists: false }), [], ['null', '{}']],
  ],
  comparison: [
    [
      path('/a', { gte: 10, lt: 20 }),
      ['{"a":10}', '{"a":19.999999999999999999999}'],
      ['{"a":9.99}', '{"a":20}', '{"a":"15"}', '{}'],
    ],
    [
      path('/a', { gt: -1.5, lte: 2 }),
      ['{"a":-1.4}', '{"a":2.000}'],
      ['{"a":-1.5}', '{"a":2.1}', '{"a":null}', '{"a":true}'],
    ],
    [
      path('/a', { gte: '2026-01-30' }),
      ['{"a":"2026-01-30T00:00:00Z"}', '{"a":"a"}'],
      ['{"a":"2026-01-29"}', '{"a":2027}'],
    ],
    // By code points: in UTF-16 the first would be less.
    [path('/a', { gt: '\uffff' }), ['{"a":"\u{10000}"}'], ['{"a":"\ufffe"}']],
  ],
  prefix: [
    [
      path('/a', { prefix: 'cus_' }),
      ['{"a":"cus_"}', '{"a":"cus_1"}'],
      ['{"a":"CUS_1"}', '{"a":"xcus_1"}', '{"a":["cus_1"]}', '{}'],
    ],
    [path('/a', { prefix: '%_.*' }), ['{"a":"%_.*!"}'], ['{"a":"axb"}']],
  ],
  'and, or, not': [
    [{ and: [path('/a', { equals: 1 }), path('/b', { equals: 2 })] }, ['{"a":1,"b":2}'], ['{"a":1}', '{"b":2}', '{}']],
    [{ or: [path('/a', { equals: 1 }), path('/b', { equals: 2 })] }, ['{"a":1}', '{"b":2}'], ['{"a":2}', '{}']],
    [
      { not: path('/a', { equals: 1 }) },
      ['{"a":2}', '{"a":"1"}', '{"a":[1]}', '{}', '[]', 'null'],
      ['{"a":1}', '{"a":1.0}'],
    ],
    [{ not: path('/a', { gt: 1 }) }, ['{"a":1}', '{"a":"2"}', '{}'], ['{"a":2}']],
    [{ not: path('/a', { exists: true }) }, ['{}'], ['{"a":null}']],
    [{ not: path('/a', { exists: false }) }, ['{"a":null}'], ['{}']],
    [{ not: { not: path('/a', { prefix: 'x' }) } }, ['{"a":"x"}'], ['{"a":1}', '{}']],
    [
      {
        not: {
          or: [path('/a', { in: [1, 2] }), { and: [path('/b', { exists: true }), { not: path('/c', { equals: 3 }) }] }],
        },
      },
      ['{}', '{"a":3,"b":1,"c":3}'],
      ['{"a":1}', '{"b":1}', '{"b":1,"c":4}'],
    ],
  ],
  paths: [
    [
      path('/a/0/b', { equals: 1 }),
      ['{"a":[{"b":1}]}', '{"a":{"0":{"b":1}}}'],
      ['{"a":{"b":1}}', '{"a":[[{"b":1}]]}', '[{"b":1}]'],
    ],
    [path('/0', { equals: 'x' }), ['["x"]', '{"0":"x"}'], ['"x"', '["y","x"]', '[["x"]]']],
    [{ not: path('/0/1', { exists: true }) }, ['[]', '{"0":[1]}', '[{"0":1}]'], ['[[1,2]]', '{"0":{"1":1}}']],
    [path('/01', { exists: true }), ['{"01":1}'], ['[1,2]', '{"1":1}']],
    [path('/-', { exists: true }), ['{"-":1}'], ['[1]']],
    [path('/-1', { exists: true }), ['{"-1":1}'], ['[1]']],
    [path('/4294967296', { exists: true }), ['{"4294967296":1}'], ['[1]']],
    [path('/a~1b/m~0n', { equals: 1 }), ['{"a/b":{"m~n":1}}'], ['{"a":{"b":1}}']],
    [path('/', { equals: 1 }), ['{"":1}'], ['1', '{" ":1}']],
    [path('/a/b', { equals: 1 }), ['{"a":{"b":1}}'], ['{"a":[{"b":1}]}', '{"a/b":1}', '{"a":{"b":[1]}}']],
    [path('/$/@/*', { equals: 1 }), ['{"$":{"@":{"*":1}}}'], ['{"$":{"@":{"a":1}}}']],
    [path('/__proto__/x', { equals: 1 }), ['{"__proto__":{"x":1}}'], ['{}', '{"x":1}']],
    [path('/constructor', { exists: true }), ['{"constructor":null}'], ['{}', '[]', '""']],
    [path('/length', { exists: true }), ['{"length":0}'], ['[]', '""']],
  ],
  'repeated keys, of which the last counts': [
    [path('/a', { equals: 2 }), ['{"a":1,"a":2}', String.raw`{"a":1,"\u0061":2}`], ['{"a":2,"a":1}', '{"a":2,"a":{}}']],
    [path('/a/b', { exists: true }), ['{"a":1,"a":{"b":1}}'], ['{"a":{"b":1},"a":{}}']],
  ],
  'text that jsonb refuses, beside what is looked at and in it': [
    [
      path('/plan', { equals: 'pro' }),
      [
        String.raw`{"note":"x\u0000y","plan":"pro"}`,
        String.raw`{"note":"\ud800","plan":"pro"}`,
        String.raw`{"\u0000":"\\u0000","\udc00":["\ud83d\ude0a\ud83d"],"plan":"pro"}`,
      ],
      [String.raw`{"plan":"pro\u0000"}`, String.raw`{"plan":"pro\ud800"}`],
    ],
    [path('/a', { equals: '\\u0000' }), [String.raw`{"z":"\u0000","a":"\\u0000"}`], [String.raw`{"a":"\u0000"}`]],
    [
      path('/a', { equals: '\\\ufffd\u{1f60a}\ufffd' }),
      [String.raw`{"a":"\\\u0000\ud83d\ude0a\ude0a"}`, String.raw`{"a":"\\\ud83d\ud83d\ude0a\ud83d"}`],
      [String.raw`{"a":"\\\\u0000\ud83d\ude0a\ude0a"}`],
    ],
    [path('/k\ufffd', { exists: true }), [String.raw`{"k\u0000":1}`, String.raw`{"k\ud800":1}`], ['{"k":1}']],
  ],
  'what is deep or huge': [
    [path('/a/a/a', { equals: 1 }), [deep(3, '1')], [deep(2, '1'), deep(499, '1')]],
    [path('/a'.repeat(30), { equals: 1 }), [deep(30, '1')], [deep(31, '1')]],
    [
      path('/z', { equals: 'end' }),
      [
        `{"a":"${'x'.repeat(1_000_000)}","z":"end"}`,
        `{"a":[${'1,'.repeat(200_000)}1],"z":"end"}`,
        `{"a":"${'\\u0000'.repeat(150_000)}","z":"end"}`,
        `{"a":"${'\\\\'.repeat(450_000)}\\u0000","z":"end"}`,
        `{"a":"${'\\ud800'.repeat(150_000)}","z":"end"}`,
        `{"a":"${'\\uDC00'.repeat(150_000)}","z":"end"}`,
        `{"a":"${'\\ud83d\\ude0a'.repeat(75_000)}\\ud800","z":"end"}`,
        `{"${'\\\\'.repeat(200_000)}":"${'\\\\\\ud800'.repeat(80_000)}","z":"end"}`,
      ],
      [`{"z":"${'x'.repeat(1_000_000)}"}`, '['.repeat(500) + ']'.repeat(500)],
    ],
  ],
  'numbers that Postgres cannot hold: no filter is met, whatever it asks': [
    [
      { not: path('/x', { exists: true }) },
      ['{"n":1e131071}', '{"n":1e-16383}'],
      ['{"n":1e131072}', '{"n":1e-16384}', '{"n":1e99999999999999999999}'],
    ],
    [path('/a', { exists: false }), [], [String.raw`{"n":1e200000,"b":"\u0000"}`]],
  ],
}

describe.each(Object.entries(table))('%s', (_, rows) => {
  test.each(rows)('%j', async (filter, met, unmet) => {
    const tenant = `t-${randomUUID()}`
    const [endpoint, all] = await addFiltered(bench.pool, tenant, [filter, null])
    for (const publish of [publishLikeApi, publishInSql]) {
      for (const [payloads, owed] of [
        [met, [all, endpoint]],
        [unmet, [all]],
      ] as const) {
        if (payloads.length === 0) continue
        const answers = await publish(bench.pool, tenant, payloads)
        for (const [place, to] of answers.entries()) {
          expect([...to].sort(), `${publish.name} ${payloads[place]!.slice(0, 200)}`).toEqual([...owed].sort())
        }
      }
    }
  })
})

test('a filter stands beside event types, channels and status: all of them must take the event', async () => {
  const tenant = `t-${randomUUID()}`
  const [plain, other] = await addFiltered(
    bench.pool,
    tenant,
    [path('/a', { equals: 1 }), path('/a', { equals: 2 })],
    ['x.*'],
  )
  await bench.pool.query(`update posthorn.endpoint set channels = '{eu}' where id = $1`, [plain])
  const owed = async (payload: string, rest: object): Promise<string[]> => {
    const [result] = await transaction(bench.pool, (client) =>
      publishMany(client, [{ tenantId: tenant, idempotencyKey: null, events: [eventOf(payload, rest)] }]),
    )
    if (result?.outcome !== 'accepted') throw new Error('not accepted')
    expect(result.events[0]!.deliveries).toBe(result.lanes.length)
    return result.lanes
  }
  expect(await owed('{"a":1}', { type: 'x.y', channels: ['eu'] })).toEqual([plain])
  expect(await owed('{"a":1}', { type: 'x.y', channels: ['us'] })).toEqual([])
  expect(await owed('{"a":1}', { type: 'x', channels: ['eu'] })).toEqual([])
  expect(await owed('{"a":2}', { type: 'x.y' })).toEqual([other])
  await bench.pool.query(`update posthorn.endpoint set status = 'disabled' where id = $1`, [other])
  expect(await owed('{"a":2}', { type: 'x.y' })).toEqual([])
})

test('the events of one batch are decided each by its own payload', async () => {
  const tenant = `t-${randomUUID()}`
  const filters = Array.from({ length: 10 }, (_, n) => path('/n', { equals: n }))
  const ids = await addFiltered(bench.pool, tenant, filters)
  const payloads = Array.from({ length: 300 }, (_, n) => (n % 7 === 6 ? '{"n":1e200000}' : `{"n":${n % 10}}`))
  const owed = await publishLikeApi(bench.pool, tenant, payloads)
  for (const [n, to] of owed.entries()) expect([...to]).toEqual(n % 7 === 6 ? [] : [ids[n % 10]])
})

test('a test event is owed whatever the filter says', async () => {
  const tenant = `t-${randomUUID()}`
  const [id] = await addFiltered(bench.pool, tenant, [path('/a', { equals: 1 })])
  await bench.pool.query(`select posthorn.publish_test($1, $2, 'posthorn.test', '{"a":2}')`, [id, tenant])
  const { rows } = await bench.pool.query('select 1 from posthorn.delivery d where d.endpoint_id = $1', [id])
  expect(rows).toHaveLength(1)
})

test('events about Posthorn itself are filtered like others', async () => {
  const wanted = path('/data/tenant_id', { equals: 'acme' })
  const [id] = await addFiltered(bench.pool, 'posthorn', [wanted])
  const told = async (tenant: string): Promise<unknown> => {
    const data = JSON.stringify({ tenant_id: tenant })
    const { rows } = await bench.pool.query<{ lanes: string[] }>(
      `select posthorn.publish_operational('endpoint.disabled', $1)::text[] as lanes`,
      [data],
    )
    return rows[0]!.lanes
  }
  expect(await told('other')).toEqual([])
  expect(await told('acme')).toEqual([id])
})

test('a path without its filter, or a filter without its path, cannot be stored', async () => {
  const tenant = `t-${randomUUID()}`
  const [id] = await addFiltered(bench.pool, tenant, [path('/a', { equals: 1 })])
  for (const column of ['filter', 'filter_path']) {
    await expect(bench.pool.query(`update posthorn.endpoint set ${column} = null where id = $1`, [id])).rejects.toThrow(
      /endpoint_filter/,
    )
  }
})
