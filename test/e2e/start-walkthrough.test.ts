import { execFile } from 'node:child_process'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { verifyWebhook, webhookId } from '../support/webhooks.ts'
import { delivered, startIn, test } from './start-under-test.ts'

/** Pastes the banner's commands into a bash, as one reads them. */
async function paste(output: string, cwd: string, env: Record<string, string> = {}): Promise<string[]> {
  const lines = output.split('\n')
  const commands = lines
    .slice(lines.indexOf('Try:') + 1)
    .filter((line) => /^ {2}(export|curl) /.test(line))
    .map((line) => line.trim())
  expect(commands).toHaveLength(4)
  const script = commands
    .map((command) => command.replace(/^curl /, 'curl --silent --fail-with-body '))
    .join('; echo\n')
  const { stdout } = await promisify(execFile)('bash', ['-ec', script], {
    cwd,
    env: { PATH: process.env['PATH'], ...env },
    timeout: 20_000,
  })
  return stdout.trim().split('\n')
}

test('from nothing to a verified webhook, by the commands that the banner shows', async ({ folder }) => {
  const start = await startIn(folder.path)
  const banner = start.process.output()
  expect(banner).toMatch(
    /^Posthorn \d+\.\d+\.\d+ · ready in \d+\.\d s · data \.posthorn\nAPI http:\/\/127\.0\.0\.1:\d+ /,
  )
  const token = await readFile(join(folder.dataDir, 'api-key'), 'utf8')
  expect(banner).toContain(`\nOperator token in .posthorn/api-key (shown once: ${token})\n`)
  for (const secret of ['api-key', 'encryption-key', 'posthorn.log']) {
    expect((await stat(join(folder.dataDir, secret))).mode & 0o777).toBe(0o600)
  }

  const [endpoint, event] = (await paste(banner, folder.path)).filter(Boolean).map((line) => JSON.parse(line))
  expect(endpoint).toMatchObject({ uid: 'main', secret: expect.stringMatching(/^whsec_/) })
  const line = await start.process.waitForLine(/^[✓✗]/u, 10_000)
  expect(line).toMatch(new RegExp(`^✓ invoice\\.paid ${event.id} verified \\(v1\\), 15 bytes, \\d+ ms$`))
  expect(await delivered(start, event.id)).toMatchObject({ attempts: 1, last_status: 200 })
  // A second go registers nothing a second time, which would have each event come twice.
  await expect(paste(banner, folder.path)).rejects.toMatchObject({ stdout: expect.stringContaining('"uid_taken"') })

  // Quiet: nothing but the banner and the line.
  expect(start.process.output().replace(banner, '').trim()).toBe(line)
  expect(await start.stop()).toBe(0)
  const written = await readFile(join(folder.dataDir, 'posthorn.log'), 'utf8')
  expect(written).not.toMatch(/whsec_|phk_/)
})

test('a data folder with blanks and quotes works too, and one from a setting', async ({ folder }) => {
  const cwd = join(folder.path, "it's a folder")
  await mkdir(cwd)
  const start = await startIn(cwd, { POSTHORN_DATA_DIR: '.posthorn' })
  await paste(start.process.output(), cwd)
  await start.process.waitForLine(/^✓ invoice\.paid/u, 10_000)
})

test('the operator token of the settings is used, and shown nowhere', async ({ folder }) => {
  const token = 'phk_a-token-of-my-own'
  const start = await startIn(folder.path)
  await start.stop()
  const again = await startIn(folder.path, { POSTHORN_API_KEY: token })
  await paste(again.process.output(), folder.path, { POSTHORN_API_KEY: token })
  await again.process.waitForLine(/^✓ invoice\.paid/u, 10_000)
  expect(again.process.output()).not.toContain(token)
})

test('the second start keeps keys and data, and shows no token', async ({ folder }) => {
  // The sample receiver may have another port the second time.
  const receiver = await startReceiver()
  const env = { POSTHORN_ALLOWED_TARGETS: `127.0.0.1:${receiver.port}` }
  const first = await startIn(folder.path, env)
  const endpoint = await first.register({ url: receiver.url })
  const secretPath = `/v1/tenants/acme/endpoints/${endpoint}/secret`
  const { body: secrets } = await first.call('GET', secretPath)
  expect(await first.stop()).toBe(0)
  const second = await startIn(folder.path, env)
  expect(second.process.output()).not.toMatch(/phk_|Operator token/)
  expect((await second.call('GET', secretPath)).body).toEqual(secrets)
  const event = await second.publish('order.made', { n: 1 })
  const request = await receiver.waitFor((each) => webhookId(each) === event, 10_000)
  verifyWebhook(secrets.secrets[0].secret, request)
  await receiver.close()
})

test('/fail fails once, and its retry succeeds', async ({ folder }) => {
  const start = await startIn(folder.path, { POSTHORN_RETRY_SCHEDULE: '1s' })
  await start.register({ url: `http://127.0.0.1:${start.samplePort}/fail` })
  const event = await start.publish('invoice.paid', { total: 1 })
  await start.process.waitForLine(new RegExp(`^✗ invoice\\.paid ${event} answered 500 on purpose`, 'u'), 10_000)
  await start.process.waitForLine(new RegExp(`^✓ invoice\\.paid ${event} verified`, 'u'), 10_000)
  expect(await delivered(start, event)).toMatchObject({ attempts: 2, last_status: 200 })
})

test('the sample receiver tells what is not signed, and takes a rotated secret at once', async ({ folder }) => {
  const start = await startIn(folder.path)
  const url = `http://127.0.0.1:${start.samplePort}/`
  const forged = await fetch(url, { method: 'POST', body: '{}', headers: { 'webhook-id': 'evt_\u001b[2Jx' } }).catch(
    () => fetch(url, { method: 'POST', body: '{}' }),
  )
  expect(forged.status).toBe(401)
  await start.process.waitForLine(/^✗ webhook \(without an id\) not verified: /u, 10_000)

  const endpoint = await start.register({ url })
  const first = await start.publish('a.b', 1)
  await start.process.waitForLine(new RegExp(`^✓ a\\.b ${first}`, 'u'), 10_000)
  await start.call('POST', `/v1/tenants/acme/endpoints/${endpoint}/secret/rotate`, { grace_seconds: 0 })
  const second = await start.publish('a.b', 2)
  await start.process.waitForLine(new RegExp(`^✓ a\\.b ${second}`, 'u'), 10_000)
  // At once: neither met a receiver that knew no better and refused it.
  for (const event of [first, second]) expect(await delivered(start, event)).toMatchObject({ attempts: 1 })
})

test('a taken port of the sample receiver: the next is used, and only that one may be reached', async ({ folder }) => {
  const squatter = createServer()
  // Held until the end: another test's start may have it, and would let it go in between.
  await eventually(
    () =>
      new Promise<boolean>((resolve) => {
        squatter.once('error', () => resolve(false))
        squatter.listen(8081, '127.0.0.1', () => resolve(true))
      }),
    60_000,
  )
  try {
    const start = await startIn(folder.path)
    expect(start.samplePort).toBeGreaterThan(8081)
    expect(start.samplePort).toBeLessThanOrEqual(8090)
    const refused = await start.call('POST', '/v1/tenants/acme/endpoints', { url: 'http://127.0.0.1:8081/' })
    expect(refused.status).toBe(422)
  } finally {
    squatter.close()
  }
})
