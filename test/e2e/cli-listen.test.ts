import { createHmac } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../client/free-port.ts'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type SpawnedProcess, spawnPosthorn } from '../support/processes.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { verifyWebhook } from '../support/webhooks.ts'
import { type Cli, cliOf, createCli, objectsOf, operatorToken } from './cli-under-test.ts'

let cluster: Cluster
let cli: Cli
beforeAll(async () => {
  cluster = await startCluster()
  cli = await cliOf(cluster)
})
afterAll(() => cluster?.stop())

type Listening = { process: SpawnedProcess; url: string; endpoint: string; secret: string }

/** Starts `posthorn listen` on a free port, and waits until it is registered. */
async function listen(
  tenant: string,
  args: string[] = [],
  on: { cluster: Cluster; cli: Cli } = { cluster, cli },
): Promise<Listening> {
  const process = on.cli.start(['listen', tenant, ...(args.includes('--port') ? [] : ['--port', '0']), ...args])
  const line = await process.waitForLine(/^Listening for /, 20_000)
  const [, url = '', endpoint = ''] = /at (\S+) as (ep_\w+)\. Ctrl-C removes it\.$/.exec(line) ?? []
  const { body } = await on.cluster.call('GET', `/tenants/${tenant}/endpoints/${endpoint}/secret`)
  return { process, url, endpoint, secret: body.secrets[0].secret }
}

async function endpointsOf(tenant: string): Promise<string[]> {
  return (await cluster.call('GET', `/tenants/${tenant}/endpoints`)).body.data.map(({ id }: { id: string }) => id)
}

/** A webhook as Posthorn would send it, but for what is changed. */
function sign(secret: string, body: string, at: Date): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1_000))
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signature = createHmac('sha256', key).update(`evt_x.${seconds}.${body}`).digest('base64')
  return {
    'webhook-id': 'evt_x',
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${signature}`,
    'posthorn-event-type': 'a.b',
  }
}

test.concurrent('forwards the bytes and headers that were sent, and answers what the local server answers', async () => {
  const local = await startReceiver({ respond: () => ({ status: 203, headers: { 'x-local': 'yes' }, body: 'thanks' }) })
  const listening = await listen('forward', ['--forward-to', `${local.url}/hooks?from=posthorn`])
  await listening.process.waitForLine(/^✓ posthorn\.test evt_\w+ verified, \d+ bytes$/u, 20_000)
  const payload = '{"total": 99.50, "total":1e400}'
  const event = await cluster.publish('forward', 'invoice.paid', payload)
  const got = await local.waitFor(({ headers }) => headers['webhook-id'] === event, 20_000)
  expect(got).toMatchObject({ method: 'POST', path: '/hooks?from=posthorn' })
  expect(got.body.toString()).toBe(payload)
  expect(got.headers).toMatchObject({
    host: new URL(local.url).host,
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^Posthorn\//),
  })
  verifyWebhook(listening.secret, got)
  await listening.process.waitForLine(
    new RegExp(`^✓ invoice\\.paid ${event} verified, ${payload.length} bytes$`, 'u'),
    10_000,
  )
  await listening.process.waitForLine(/^ {2}→ answered 203 after \d+ ms$/u, 10_000)
  // The test webhook is the listener's own.
  expect(local.requests.map(({ headers }) => headers['posthorn-event-type'])).toEqual(['invoice.paid'])
  const [attempt] = await eventually(async () => {
    const attempts = await cluster.attempts('forward', event, listening.endpoint)
    return attempts.length > 0 && attempts
  }, 10_000)
  expect(attempt).toMatchObject({
    outcome: 'succeeded',
    response: { status: 203, body: 'thanks', headers: { 'x-local': 'yes' } },
  })

  await local.close()
  const second = await cluster.publish('forward', 'invoice.paid', '2')
  await listening.process.waitForLine(
    /^ {2}→ http:\S+\/hooks gave no answer \(ECONNREFUSED\), so Posthorn is answered 502: is your server up\?$/u,
    20_000,
  )
  // It is settled a moment after it was answered.
  const [gone] = await eventually(async () => {
    const attempts = await cluster.attempts('forward', second, listening.endpoint)
    return attempts.length > 0 && attempts
  }, 10_000)
  expect(gone).toMatchObject({ outcome: 'failed', response: { status: 502 } })

  listening.process.signal('SIGINT')
  expect(await listening.process.exited).toEqual({ code: 0, signal: null })
  expect(listening.process.output()).toMatch(new RegExp(`\nRemoved ${listening.endpoint}\\.$`))
  expect(await endpointsOf('forward')).toEqual([])
})

test.concurrent('what is tampered with, unsigned or an hour old is told, refused and not forwarded', async () => {
  const local = await startReceiver()
  const { process, url, secret } = await listen('tampered', ['--forward-to', local.url, '--no-test'])
  const post = (headers: Record<string, string>, body: string): Promise<Response> =>
    fetch(url, { method: 'POST', headers, body })
  const now = new Date()
  const body = '{"total":1}'
  expect((await post(sign(secret, body, now), '{"total":9}')).status).toBe(401)
  await process.waitForLine(/^✗ a\.b evt_x not verified \(no_match\): No signature fits/u, 10_000)
  expect((await post({}, body)).status).toBe(400)
  await process.waitForLine(/^✗ webhook \(without an id\) not verified \(missing_header\)/u, 10_000)
  for (const [offMs, code] of [
    [-3_600_000, 'too_old'],
    [3_600_000, 'too_new'],
  ] as const) {
    expect((await post(sign(secret, body, new Date(now.getTime() + offMs)), body)).status).toBe(400)
    await process.waitForLine(
      new RegExp(
        `^✗ a\\.b evt_x not verified \\(${code}\\): It was signed 3[56]\\d\\d s .*set the clock \\(NTP\\)`,
        'u',
      ),
      10_000,
    )
  }
  expect((await fetch(url)).status).toBe(405)
  expect(local.requests).toEqual([])
  expect((await post(sign(secret, body, now), body)).status).toBe(200)
  expect(local.requests).toHaveLength(1)
  await local.close()
  process.signal('SIGTERM')
  expect((await process.exited).code).toBe(0)
})

test.concurrent('with --json each webhook is an object a line, and what is wrong with it too', async () => {
  const port = String(await freePort())
  const process = cli.start(['listen', 'json', '--port', port, '--no-test', '--json', '--types', 'a.b'])
  await expect.poll(() => endpointsOf('json'), { timeout: 20_000 }).toHaveLength(1)
  await cluster.publish('json', 'not.wanted', '0')
  const event = await cluster.publish('json', 'a.b', '{"n":1.0}')
  await process.waitForLine(/^\{/, 20_000)
  await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: Uint8Array.of(0xff) })
  await process.waitForLine(/"verified":false/, 10_000)
  process.signal('SIGINT')
  expect((await process.exited).code).toBe(0)
  expect(objectsOf(process.output())).toMatchObject([
    {
      ...{ id: event, type: 'a.b', verified: true, error: null, body: '{"n":1.0}', body_encoding: 'utf8' },
      ...{ forwarded: null, answered: 204, headers: expect.arrayContaining([['webhook-id', event]]) },
    },
    {
      id: null,
      verified: false,
      error: { code: 'missing_header' },
      body: '/w==',
      body_encoding: 'base64',
      answered: 400,
    },
  ])
})

test.concurrent('one that was killed leaves an endpoint, which the next on its port takes the place of', async () => {
  const port = String(await freePort())
  const first = await listen('left', ['--port', port, '--no-test'])
  first.process.signal('SIGKILL')
  await first.process.exited
  expect(await endpointsOf('left')).toEqual([first.endpoint])
  const second = await listen('left', ['--port', port])
  await second.process.waitForLine(/^✓ posthorn\.test/u, 20_000)
  expect(await endpointsOf('left')).toEqual([second.endpoint])
  const taken = await cli.run(['listen', 'left', '--port', port])
  expect(taken).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^posthorn: --port: port \d+ of 127\.0\.0\.1 is taken/),
  })
  second.process.signal('SIGHUP')
  expect((await second.process.exited).code).toBe(0)
})

test.concurrent('an API that may not send to this machine: which setting allows it', async () => {
  const strict = spawnPosthorn(
    'api',
    {
      POSTHORN_DATABASE_URL: cluster.databaseUrl,
      POSTHORN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      POSTHORN_API_KEY: operatorToken,
      POSTHORN_PORT: '0',
    },
    { outlivesTest: true },
  )
  const { port } = JSON.parse(await strict.waitForLine(/"msg":"api listening"/, 20_000)) as { port: number }
  const here = String(await freePort())
  const refused = await cli.run(['listen', 'strict', '--port', here, '--url', `http://127.0.0.1:${port}`])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toBe(
    `posthorn: Posthorn may not send to http://127.0.0.1:${here}/, which is a private address: start API and dispatchers with POSTHORN_ALLOWED_TARGETS=127.0.0.1:${here} (POSTHORN_ALLOWED_TARGETS=127.0.0.1:${here} npx -y pnpm@12 start)\n`,
  )
})

test('goes on across a restart of the dispatcher; without an API it says what is left behind', async () => {
  const own = await startCluster()
  const mine = { cluster: own, cli: await cliOf(own) }
  const local: Receiver = await startReceiver()
  try {
    const listening = await listen('restart', ['--forward-to', local.url], mine)
    const first = await own.publish('restart', 'a.b', '1')
    await local.waitFor(({ headers }) => headers['webhook-id'] === first, 20_000)
    const [dispatcher] = own.dispatchers
    dispatcher!.signal('SIGKILL')
    await dispatcher!.exited
    const second = await own.publish('restart', 'a.b', '2')
    await own.startDispatcher()
    const got = await local.waitFor(({ headers }) => headers['webhook-id'] === second, 30_000)
    verifyWebhook(listening.secret, got)
    await listening.process.waitForLine(new RegExp(`^✓ a\\.b ${second} verified`, 'u'), 10_000)

    // One whose dispatchers may not send here, though the API may register it.
    for (const each of own.dispatchers) each.signal('SIGTERM')
    await Promise.all(own.dispatchers.map((each) => each.exited))
    await own.startDispatcher({ POSTHORN_ALLOWED_TARGETS: '' })
    const refused = await listen('restart', [], mine)
    await refused.process.waitForLine(
      /^The dispatchers may not send to http:\/\/127\.0\.0\.1:\d+\/: start API and dispatchers with POSTHORN_ALLOWED_TARGETS=127\.0\.0\.1:\d+ /,
      20_000,
    )
    refused.process.signal('SIGINT')
    expect((await refused.process.exited).code).toBe(0)

    own.api.signal('SIGKILL')
    await own.api.exited
    listening.process.signal('SIGINT')
    expect((await listening.process.exited).code).toBe(1)
    expect(listening.process.output()).toMatch(
      new RegExp(
        `endpoint ${listening.endpoint} of restart is left behind, for the API cannot be reached \\(ECONNREFUSED\\): remove it with \`posthorn endpoints remove restart ${listening.endpoint}\``,
      ),
    )
  } finally {
    await Promise.all([own.stop(), local.close()])
  }
})

test('a port that is held by another is refused before anything is registered', async () => {
  const squatter = createServer()
  await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve))
  const { port } = squatter.address() as AddressInfo
  const ran = await createCli(cli.env).run(['listen', 'held', '--port', String(port)])
  squatter.close()
  expect(ran.code).toBe(2)
  expect((await cluster.call('GET', '/tenants/held')).status).toBe(404)
})
