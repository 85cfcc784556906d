import { expect } from 'vitest'
import { spawnPosthorn } from '../support/processes.ts'
import { startReceiver } from '../support/receiver.ts'
import { webhookId } from '../support/webhooks.ts'
import { delivered, inFolder, processesOf, refusal, startIn, test } from './start-under-test.ts'

/*
 * Starts that meet another in their folder. They wait, for the lock of the folder or for leases to be over: so they wait
 * side by side.
 */

test.concurrent('kill -9 and start again: the orphan is found, the backlog goes on', async ({ folder }) => {
  const receiver = await startReceiver({ respond: () => ({ status: 200, delayMs: 200 }) })
  const env = { POSTHORN_ALLOWED_TARGETS: `127.0.0.1:${receiver.port}` }
  const first = await startIn(folder.path, env)
  await first.register({ url: receiver.url, max_in_flight: 3 })
  const events: string[] = []
  for (let n = 0; n < 20; n += 1) events.push(await first.publish('a.b', n))
  await receiver.waitFor(6, 10_000)
  first.process.signal('SIGKILL')
  await first.process.exited
  expect(processesOf(folder.path)).not.toEqual([])

  const second = await startIn(folder.path, env)
  const distinct = (): Set<string> => new Set(receiver.requests.map(webhookId))
  await receiver.waitUntil(() => distinct().size === events.length, 60_000)
  for (const event of events) await delivered(second, event)
  expect([...distinct()].sort()).toEqual([...events].sort())
  // Twice at most those that were in flight, or not settled yet.
  expect(receiver.requests.length - events.length).toBeLessThanOrEqual(6)
  expect(await second.stop()).toBe(0)
  expect(processesOf(folder.path)).toEqual([])
  await receiver.close()
})

test.concurrent('a second start in the same folder is refused, and the first lives', async ({ folder }) => {
  const first = await startIn(folder.path)
  const said = await refusal(folder, 'start', { POSTHORN_PORT: '0' })
  expect(said).toMatch(
    new RegExp(`^posthorn: the data folder .* is in use by process ${first.process.pid}: [^\\n]+$`, 'm'),
  )
  await first.register({ url: `http://127.0.0.1:${first.samplePort}/` })
  const event = await first.publish('a.b', 1)
  await first.process.waitForLine(new RegExp(`^✓ a\\.b ${event}`, 'u'), 10_000)
  expect(await first.stop()).toBe(0)
})

test.concurrent('two starts at once in a new folder: one of them lives', async ({ folder }) => {
  const both = [1, 2].map(() => spawnPosthorn('start', { POSTHORN_PORT: '0' }, inFolder(folder.path)))
  const loser = await Promise.race(both.map(async (start) => ({ start, exit: await start.exited })))
  expect(loser.exit).toEqual({ code: 1, signal: null })
  expect(loser.start.output()).toMatch(/is in use by process/)
  const winner = both.find((start) => start !== loser.start)!
  await winner.waitForLine(/^Try:/, 30_000)
  winner.signal('SIGTERM')
  expect(await winner.exited).toEqual({ code: 0, signal: null })
})
