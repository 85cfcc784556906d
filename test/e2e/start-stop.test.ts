import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { webhookId } from '../support/webhooks.ts'
import { delivered, processesOf, startIn, test } from './start-under-test.ts'

test('SIGTERM in the middle of requests: they end, are settled, and each event arrives exactly once', async ({
  folder,
}) => {
  const receiver = await startReceiver({ respond: () => ({ status: 200, delayMs: 1_500 }) })
  const env = { POSTHORN_ALLOWED_TARGETS: `127.0.0.1:${receiver.port}` }
  const first = await startIn(folder.path, env)
  // Four are in flight, two wait.
  await first.register({ url: receiver.url, max_in_flight: 4 })
  const events: string[] = []
  for (let n = 0; n < 6; n += 1) events.push(await first.publish('a.b', n))
  await receiver.waitFor(4, 10_000)
  expect(await first.stop()).toBe(0)
  expect(receiver.requests).toHaveLength(4)
  expect(processesOf(folder.path)).toEqual([])

  receiver.respond = () => ({ status: 200 })
  const second = await startIn(folder.path, env)
  for (const event of events) expect(await delivered(second, event)).toMatchObject({ attempts: 1 })
  expect(receiver.requests.map(webhookId).sort()).toEqual([...events].sort())
  await receiver.close()
})

test('Ctrl-C reaches all of the process group: Postgres outlives the settling', async ({ folder }) => {
  const receiver = await startReceiver({ respond: () => ({ status: 200, delayMs: 1_000 }) })
  const env = { POSTHORN_ALLOWED_TARGETS: `127.0.0.1:${receiver.port}` }
  const first = await startIn(folder.path, env, { ownGroup: true })
  await first.register({ url: receiver.url })
  const event = await first.publish('a.b', 1)
  await receiver.waitFor(1, 10_000)
  process.kill(-first.process.pid, 'SIGINT')
  expect(await first.process.exited).toEqual({ code: 0, signal: null })
  expect(first.process.output()).toMatch(/^Stopping/m)
  expect(first.process.output()).not.toMatch(/^(warning|error):/m)
  expect(processesOf(folder.path)).toEqual([])

  const second = await startIn(folder.path, env)
  expect(await delivered(second, event)).toMatchObject({ attempts: 1 })
  expect(receiver.requests).toHaveLength(1)
  await receiver.close()
})

test('a second signal ends it at once, and takes Postgres along', async ({ folder }) => {
  const receiver = await startReceiver({ respond: () => 'hang' })
  const start = await startIn(folder.path, { POSTHORN_ALLOWED_TARGETS: `127.0.0.1:${receiver.port}` })
  await start.register({ url: receiver.url })
  await start.publish('a.b', 1)
  await receiver.waitFor(1, 10_000)
  start.process.signal('SIGTERM')
  await start.process.waitForLine(/^Stopping/, 5_000)
  const at = performance.now()
  start.process.signal('SIGINT')
  expect(await start.process.exited).toEqual({ code: 130, signal: null })
  expect(performance.now() - at).toBeLessThan(2_000)
  await eventually(() => processesOf(folder.path).length === 0, 5_000)
  await receiver.close()
})

test('a signal while it still starts leaves nothing behind', async ({ folder }) => {
  const start = startIn(folder.path)
  const ended = expect(start).rejects.toThrow(/ended \(0\)/)
  await eventually(() => readFileSync(join(folder.dataDir, 'encryption-key')), 20_000)
  for (const pid of processesOf(folder.path)) if (isMain(pid)) process.kill(pid, 'SIGTERM')
  await ended
  expect(processesOf(folder.path)).toEqual([])
  await (await startIn(folder.path)).stop()
})

test('the embedded Postgres dies: it is started again, and deliveries go on', async ({ folder }) => {
  const start = await startIn(folder.path)
  await start.register({ url: `http://127.0.0.1:${start.samplePort}/` })
  const pid = Number(readFileSync(join(folder.dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0])
  process.kill(pid, 'SIGKILL')
  await start.process.waitForLine(/^error: the embedded Postgres died: it is started again/, 10_000)
  const event = await eventually(() => start.publish('a.b', 1), 30_000)
  await start.process.waitForLine(new RegExp(`^✓ a\\.b ${event}`, 'u'), 30_000)
  expect(await start.stop()).toBe(0)
  expect(processesOf(folder.path)).toEqual([])
})

function isMain(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts')
}
