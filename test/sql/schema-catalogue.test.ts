import { transaction } from '@posthorn/core/db'
import { readCatalogue, readCatalogueVersion } from '@posthorn/core/sql'
import { expect, test } from 'vitest'
import { useBench } from './claim-fixture.ts'

const bench = useBench()

test('each change of the catalogue is counted, by whatever statement, and with its transaction', async () => {
  const seen: string[] = [await readCatalogueVersion(bench.pool)]
  for (const statement of [
    `insert into posthorn.event_type (name, schema) values ('a.b', '{"b": 1, "a": 2}')`,
    `update posthorn.event_type set archived = true`,
    `delete from posthorn.event_type`,
    `truncate posthorn.event_type`,
  ]) {
    await bench.pool.query(statement)
    seen.push(await readCatalogueVersion(bench.pool))
  }
  expect(new Set(seen).size).toBe(5)
  const undone = transaction(bench.pool, async (client) => {
    await client.query(`insert into posthorn.event_type (name) values ('undone')`)
    expect(await readCatalogueVersion(client)).not.toBe(seen.at(-1))
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  expect(await readCatalogue(bench.pool)).toEqual({ version: seen.at(-1), types: new Map() })
})

test('changes of several types at once wait for one another, in whatever order, and end', async () => {
  await bench.pool.query(`insert into posthorn.event_type (name) values ('one'), ('two')`)
  const both = (names: string[]) =>
    transaction(bench.pool, async (client) => {
      for (const name of names) {
        await client.query(`update posthorn.event_type set archived = not archived where name = $1`, [name])
      }
    })
  const rounds = Array.from({ length: 10 }, () => [both(['one', 'two']), both(['two', 'one'])])
  await Promise.all(rounds.flat())
  const { types } = await readCatalogue(bench.pool)
  expect([...types.keys()].sort()).toEqual(['one', 'two'])
})
