import type { HorizonHolder } from '@posthorn/core/sql'
import { describe, expect, test } from 'vitest'
import { judgeHorizon } from './judge-horizon.ts'

const session: HorizonHolder = {
  kind: 'session',
  name: '4711',
  program: 'psql',
  state: 'idle in transaction',
  xids: 9,
  seconds: 5,
}
const prepared: HorizonHolder = { kind: 'prepared', name: 'order-7', program: '', state: '', xids: 9, seconds: 5 }
const slot: HorizonHolder = {
  kind: 'slot',
  name: 'copy',
  program: 'pgoutput',
  state: 'inactive',
  xids: 9,
  seconds: null,
}

describe('what holds the vacuum horizon back', () => {
  test('what is young is nobody’s trouble', () => {
    expect(judgeHorizon({ holders: [session, prepared, slot], seesAll: true })).toMatchObject([{ state: 'ok' }])
    expect(judgeHorizon({ holders: [], seesAll: true })).toMatchObject([{ state: 'ok', todo: null }])
  })

  test.each<[string, HorizonHolder, 'warn' | 'fail', RegExp]>([
    ['a session of some minutes', { ...session, seconds: 1_200 }, 'warn', /pg_terminate_backend\(4711\)/],
    ['a session of a day', { ...session, seconds: 86_400 }, 'fail', /pg_terminate_backend\(4711\)/],
    ['a prepared transaction', { ...prepared, seconds: 86_400 }, 'fail', /rollback prepared 'order-7'/],
    ['a slot that lags', { ...slot, xids: 20_000_000 }, 'warn', /pg_drop_replication_slot\('copy'\)/],
  ])('%s is named, with what to do', (_, holder, state, todo) => {
    expect(judgeHorizon({ holders: [holder], seesAll: true })).toEqual([
      {
        name: 'vacuum horizon',
        state,
        message: expect.stringContaining(holder.name),
        todo: expect.stringMatching(todo),
      },
    ])
  })

  test('what may not be seen is not called well', () => {
    expect(judgeHorizon({ holders: [session], seesAll: false })).toMatchObject([
      { state: 'warn', todo: expect.stringContaining('pg_read_all_stats') },
    ])
  })
})
