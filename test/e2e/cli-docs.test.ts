import { expect } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { blocksOf, openShell } from './docs-under-test.ts'
import { startIn, test } from './start-under-test.ts'

test('every command of the page on the command line, pasted as it stands, beside a running start', async ({
  folder,
}) => {
  const blocks = blocksOf('docs/cli.md').map(({ text }) => text)
  const isLive = (block: string): boolean => /^npx posthorn (tail|listen)/m.test(block)
  const starts = blocks.filter((block) => block.includes('pnpm@12 start'))
  expect(starts).toEqual(['POSTHORN_ALLOWED_TARGETS=127.0.0.1:8092 npx -y pnpm@12 start\n'])

  const start = await startIn(folder.path)
  const local = await startReceiver()
  const shell = openShell(folder.path, start, { 'localhost:3000': `127.0.0.1:${local.port}` })

  let ran = 0
  for (const block of blocks.filter((each) => !isLive(each) && !starts.includes(each))) {
    await shell.run(block)
    ran += block.match(/npx posthorn/g)?.length ?? 0
    // What the next lists must have ended.
    await eventually(async () => {
      const { body } = await start.call('GET', '/v1/tenants/acme/deliveries')
      return body.data.every(({ state }: { state: string }) => state === 'succeeded' || state === 'scheduled')
    }, 20_000)
  }
  expect(ran).toBeGreaterThan(12)

  const [tail, listen, ...more] = blocks.filter(isLive).map((block) => shell.paste(`exec ${block}`))
  expect(more).toEqual([])
  await tail!.waitForLine(/^succeeded {2}invoice\.paid /, 20_000)
  await listen!.waitForLine(/^✓ posthorn\.test/u, 20_000)
  const event = await start.publish('invoice.paid', { total: 1 })
  await local.waitFor(({ headers }) => headers['webhook-id'] === event, 20_000)
  await tail!.waitForLine(new RegExp(`^succeeded {2}invoice\\.paid {2}${event}`), 20_000)
  for (const each of [tail, listen]) {
    each!.signal('SIGINT')
    expect(await each!.exited).toEqual({ code: 0, signal: null })
  }
  await local.close()
  expect(await start.stop()).toBe(0)
})
