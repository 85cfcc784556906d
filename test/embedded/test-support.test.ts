import pg from 'pg'
import { expect, test } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { startTestServer } from '../support/test-server.ts'

test('a test server that is killed and restarted keeps its url and what was committed', async () => {
  const server = await startTestServer()
  try {
    const query = async (text: string): Promise<unknown[]> => {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      try {
        return (await client.query(text)).rows
      } finally {
        await client.end()
      }
    }
    await query('create table kept as select 1 as number')
    await server.kill9()
    await expect(query('select 1')).rejects.toThrow(/ECONNREFUSED/)
    await server.restart()
    expect(await query('select number from kept')).toEqual([{ number: 1 }])
  } finally {
    await server.stop()
  }
})

test('the receiver records requests and answers as told', async () => {
  const receiver = await startReceiver({
    respond: ({ path }) => (path === '/reset' ? 'reset' : { status: 201, delayMs: 50 }),
  })
  try {
    const post = (path: string, body: string): Promise<Response> => fetch(receiver.url + path, { method: 'POST', body })
    const both = Promise.all([post('/a?x=1', 'é'), post('/a', 'b')])
    const first = await receiver.waitFor(({ path }) => path === '/a?x=1', 5_000)
    expect([first.method, first.body.toString(), first.bodyLength]).toEqual(['POST', 'é', 2])
    expect((await both).map(({ status }) => status)).toEqual([201, 201])
    expect(receiver.maxInFlight('/a')).toBe(2)
    await expect(post('/reset', '')).rejects.toThrow()
    expect(await receiver.waitFor(3, 5_000)).toHaveLength(3)
    await expect(receiver.waitFor(4, 50)).rejects.toThrow(/got 3 requests/)
  } finally {
    await receiver.close()
  }
})
