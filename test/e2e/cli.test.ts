import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../client/free-port.ts'
import { startFront } from '../client/front.ts'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Answer, type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { type Cli, cliOf, operatorToken, runOnTerminal } from './cli-under-test.ts'

let cluster: Cluster
let cli: Cli
let receiver: Receiver
beforeAll(async () => {
  ;[cluster, receiver] = await Promise.all([startCluster(), startReceiver({ respond })])
  cli = await cliOf(cluster)
})
afterAll(() => Promise.all([cluster?.stop(), receiver?.close()]))

const failed = new Set<unknown>()
/** An event of the type `fails.once` does, at each path. */
function respond({ path, headers }: Received): Answer {
  const fails = headers['posthorn-event-type'] === 'fails.once' && !failed.has(path)
  if (fails) failed.add(path)
  return { status: fails ? 500 : 200 }
}

let made = 0
/** A tenant of the test's own, with one endpoint at the receiver, `main`. */
async function tenantWith(path: string, more: Record<string, unknown> = {}): Promise<string> {
  made += 1
  const tenant = `cli-${made}`
  await cluster.makeEndpoint(tenant, { url: receiver.url + path, uid: 'main', ...more })
  return tenant
}

async function delivered(tenant: string, event: string): Promise<void> {
  await eventually(async () => (await cluster.delivery(tenant, event, 'main')).body.state === 'succeeded', 20_000)
}

describe('each command', () => {
  test.concurrent('tells people what there is, in columns', async () => {
    const tenant = await tenantWith('/ok')
    const added = await cli.run(['endpoints', 'add', tenant, 'https://example.com/hooks', '--types', 'order.*,x.y'])
    expect(added).toMatchObject({ code: 0, stderr: '' })
    expect(added.stdout).toMatch(/^ep_\w+\nsecret whsec_\S+\n$/)
    const endpoints = await cli.run(['endpoints', tenant])
    expect(endpoints.stdout).toMatch(
      /^ENDPOINT +UID +STATUS +TYPES +URL\nep_\w+ +enabled +order\.\*,x\.y +https:.*\nep_\w+ +main +enabled +all /,
    )
    const show = ['endpoints', 'show', tenant, 'main']
    expect((await cli.run(show)).stdout).toMatch(/\nattempts {2}none made since \S+Z\nlatency {3}none\n/)
    const published = await cli.run(['publish', tenant, 'invoice.paid', '{"total":99.50}'])
    const event = /^(evt_\w+) invoice\.paid, owed to 1 endpoint\n$/.exec(published.stdout)?.[1] ?? ''
    expect(event).not.toBe('')
    await delivered(tenant, event)
    const { stdout: deliveries } = await cli.run(['deliveries', tenant, '--state', 'succeeded'])
    expect(deliveries).toMatch(
      new RegExp(`^DELIVERY +TYPE .*\n${event}/ep_\\w+ +invoice\\.paid +succeeded +1 +200 +ended \\S+Z\n$`),
    )
    const name = deliveries.split('\n')[1]!.split(' ')[0]!
    const attempts = await cli.run(['attempts', tenant, name])
    expect(attempts.stdout).toMatch(/^ENDPOINT .*\nep_\w+ +1 +\S+Z +\d+ ms +succeeded +200\n$/)
    expect((await cli.run(['attempts', tenant, event, '--response'])).stdout).toMatch(/ {2}date: .*GMT/)
    expect((await cli.run(['redeliver', tenant, name])).stdout).toMatch(
      new RegExp(`^${name} is (pending|in_flight|succeeded)\n$`),
    )
    const shown = await cli.run(show)
    expect(shown.stdout).toMatch(/^endpoint {2}ep_\w+\nuid {7}main\n/)
    expect(shown.stdout).toMatch(/\nattempts {2}100\.0 % of [12] succeeded since \S+Z\n/)
    expect((await cli.run(['endpoints', 'pause', tenant, 'main'])).stdout).toMatch(/^ep_\w+ is paused\n$/)
    expect((await cli.run(['endpoints', 'enable', tenant, 'main'])).stdout).toMatch(/^ep_\w+ is enabled\n$/)
    expect((await cli.run(['endpoints', 'test', tenant, 'main'])).stdout).toMatch(
      /^succeeded: answered 200 after \d+ ms\n$/,
    )
    expect((await cli.run(['endpoints', 'remove', tenant, 'main'])).stdout).toBe('removed main\n')
    expect((await cli.run(['tenants'])).stdout).toMatch(new RegExp(`^TENANT .*\n(.*\n)*${tenant} `))
  })

  test.concurrent('prints what the API answers with --json, and nothing else', async () => {
    const tenant = await tenantWith('/ok')
    const [event] = await cli.json(['publish', tenant, 'invoice.paid', '1', '--idempotency-key', 'one'])
    expect(event).toMatchObject({ tenant_id: tenant, type: 'invoice.paid', deliveries: 1, replayed: false })
    expect(await cli.json(['publish', tenant, 'invoice.paid', '1', '--idempotency-key', 'one'])).toEqual([
      { ...event, replayed: true },
    ])
    await delivered(tenant, event.id)
    const [delivery] = await cli.json(['deliveries', tenant, '--event', event.id])
    expect(delivery).toMatchObject({ event_id: event.id, attempts: 1, last_status: 200 })
    const name = `${event.id}/main`
    expect(await cli.json(['attempts', tenant, name])).toMatchObject([{ number: 1, outcome: 'succeeded' }])
    const [other] = await cli.json(['publish', tenant, 'invoice.due', '2'])
    await delivered(tenant, other.id)
    expect(await cli.json(['redeliver', tenant, name, `${other.id}/main`])).toMatchObject([
      { event_id: event.id },
      { event_id: other.id },
    ])
    expect(await cli.json(['endpoints', tenant])).toMatchObject([{ uid: 'main', url: `${receiver.url}/ok` }])
    expect(await cli.json(['endpoints', 'show', tenant, 'main'])).toMatchObject([
      { uid: 'main', stats: { backlog: {} } },
    ])
    const choosy = ['endpoints', 'add', tenant, 'https://example.com/', '--filter', '{"path":"/n","gt":1}']
    expect(await cli.json(choosy)).toMatchObject([{ filter: { path: '/n', gt: 1 } }])
    expect(await cli.json(['endpoints', 'disable', tenant, 'main'])).toMatchObject([{ status: 'disabled' }])
    expect(await cli.json(['endpoints', 'enable', tenant, 'main'])).toMatchObject([{ status: 'enabled' }])
    expect(await cli.json(['endpoints', 'test', tenant, 'main'])).toMatchObject([{ outcome: 'succeeded' }])
    expect(await cli.json(['recover', tenant, 'main', '--since', '1h', '--dry-run'])).toMatchObject([{ failed: 0 }])
    const [job] = await cli.json(['recover', tenant, 'main', '--since', '1h', '--no-watch'])
    expect(job).toMatchObject({ id: expect.stringMatching(/^job_/), kind: 'recover' })
    expect(await cli.json(['job', job.id, '--watch'])).toMatchObject([{ id: job.id, status: 'done' }])
    expect(await cli.json(['endpoints', 'remove', tenant, 'main'])).toEqual([{ removed: 'main' }])
    expect((await cli.json(['tenants', '--all'])).map(({ id }) => id)).toContain(tenant)
    const failed = await cli.run(['endpoints', 'show', tenant, 'main', '--json'])
    expect(failed).toMatchObject({ code: 5, stdout: '' })
    expect(JSON.parse(failed.stderr)).toMatchObject({ error: { code: 'not_found', message: expect.any(String) } })
  })

  test.concurrent('has help with what it does and two examples or more, and no word of it breaks the other rules', async () => {
    const { stdout } = await cli.run(['--help'])
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[options\]| <| {2})/gm)].map((match) => match[1]!)
    expect(commands).toEqual([
      ...['start', 'api', 'dispatcher', 'migrate', 'reencrypt', 'receiver'],
      ...['tenants', 'endpoints', 'deliveries', 'attempts', 'tail', 'doctor'],
      ...['publish', 'redeliver', 'recover', 'job', 'listen'],
    ])
    const below = ['list', 'add', 'show', 'enable', 'pause', 'disable', 'test', 'remove'].map((each) => [
      'endpoints',
      each,
    ])
    const helps = [...commands.map((each) => [each]), ...below].map(async (command) => {
      const help = await cli.run([...command, '--help'])
      expect(help, command.join(' ')).toMatchObject({ code: 0, stderr: '' })
      expect(help.stdout).toMatch(new RegExp(`^Usage: posthorn ${command.join(' ')}`))
      const shown = help.stdout.slice(help.stdout.indexOf('Examples:')).match(/^ {2}# .+\n {2}posthorn .+$/gm) ?? []
      expect(shown.length, command.join(' ')).toBeGreaterThanOrEqual(2)
    })
    await Promise.all(helps)
    expect((await cli.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

test.concurrent('a payload is published byte for byte: from an argument, a file, and stdin', async ({
  onTestFinished,
}) => {
  const tenant = await tenantWith('/bytes')
  const folder = await mkdtemp(join(tmpdir(), 'posthorn-cli-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const payload = '{"n":1.00e2, "n" : 12345678901234567890,\t"s":"\\u00e9 é 💥"}'
  await writeFile(join(folder, 'payload.json'), `${payload}\n`)
  const ways: [string[], object][] = [
    [[payload], {}],
    [['--file', 'payload.json'], { cwd: folder }],
    [['-'], { input: payload }],
    [[], { input: `\n  ${payload}  ` }],
  ]
  for (const [args, options] of ways) {
    const [event] = await cli.json(['publish', tenant, 'a.b', ...args], options)
    const sent = await receiver.waitFor(({ headers }) => headers['webhook-id'] === event.id, 20_000)
    expect(sent.body.toString()).toBe(payload)
  }
})

test.concurrent('an event that nobody is owed is published, and who typed it is told what to look at', async () => {
  const tenant = await tenantWith('/choosy', { event_types: ['order.*'] })
  for (const name of [tenant, `${tenant}-mistyped`]) {
    expect(await cli.run(['publish', name, 'invoice.paid', '1'])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^evt_\w+ invoice\.paid, owed to 0 endpoints\n$/),
      stderr: `Nobody is owed it: is ${name} the right tenant? \`posthorn endpoints ${name}\` lists its endpoints, of which none takes it: see their status, types, channels and filters\n`,
    })
  }
  expect(await cli.run(['publish', tenant, 'order.made', '1'])).toMatchObject({ code: 0, stderr: '' })
  const asJson = await cli.run(['publish', tenant, 'invoice.paid', '1', '--json'])
  expect(asJson).toMatchObject({ code: 0, stdout: expect.stringContaining('"deliveries":0'), stderr: '' })
})

describe('wrong usage', () => {
  test.concurrent.for<[string[], RegExp, { input?: string | Uint8Array }?]>([
    [[], /Usage: posthorn \[options\] \[command\]/],
    [['serve'], /unknown command 'serve'/],
    [['start', 'now'], /too many arguments for 'start'/],
    [['deliveries'], /missing required argument 'tenant'/],
    [['deliveries', 'acme', '--state', 'lost'], /'lost' is invalid. Allowed choices are pending, in_flight/],
    [['deliveries', 'acme', '--since', 'yesterday'], /Write a duration, such as 90s/],
    [['deliveries', 'acme', '--limit', '0'], /Write a whole number from 1/],
    [['deliveries', 'acme', '--sicne', '1h'], /unknown option '--sicne'\n\(Did you mean --since\?\)/],
    [['attempts', 'acme', '/'], /^posthorn: a delivery is named evt_\.\.\.\/ep_\.\.\., .*: \/ is none\n$/],
    [['attempts', 'acme', ''], /^posthorn: name an event, evt_\.\.\., or a delivery, evt_\.\.\.\/ep_\.\.\.\n$/],
    [['redeliver', 'acme', 'evt_1'], /^posthorn: a delivery is named evt_\.\.\.\/ep_\.\.\., .*: evt_1 is none\n$/],
    [['recover', 'acme', 'main'], /required option '--since <when>' not specified/],
    [['recover', 'acme', 'main', '--since', '1h', '--states', 'lost'], /Write some of failed, canceled, missed/],
    [['endpoints', 'add', 'acme', 'https://example.com/', '--filter', '[1]'], /Write a JSON object/],
    [['publish', 'acme', 'a.b', '{"a":'], /the payload is not JSON/],
    [['publish', 'acme', 'a.b', '{} , "type": "other"'], /the payload is not JSON/],
    [['publish', 'acme', 'a.b', '{}', '--file', 'x'], /given twice/],
    [['publish', 'acme', 'a.b', '--file', 'nowhere.json'], /nowhere\.json cannot be read: ENOENT/],
    [['publish', 'acme', 'a.b', '-'], /stdin is not UTF-8/, { input: Uint8Array.of(0x22, 0xff, 0x22) }],
    [['publish', 'acme', 'a.b', '-'], /the payload is not JSON/, { input: '' }],
    [['publish', 'acme', 'a b', '1'], /422 .*\/type/],
    [['endpoints', 'add', 'acme', 'ftp://example.com'], /\/url: only http and https/],
    [['listen', 'acme', '--forward-to', 'localhost'], /--forward-to: write a port/],
    [['tenants', '--api-key', 'two words'], /--api-key: must be a token/],
    [['tenants', '--url', 'localhost:8080'], /--url: must begin with http/],
  ])('%j is told in words, with 2', async ([args, said, options]) => {
    const ran = await cli.run(args, options)
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toMatch(said)
    expect(ran.stderr).not.toMatch(/\n +at /)
    expect(ran.stderr).not.toContain('\u001b')
  })

  test.concurrent('is JSON where JSON was asked for', async () => {
    const { code, stderr } = await cli.run(['deliveries', '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'wrong_usage', message: "missing required argument 'tenant'", errors: [] },
    })
  })

  test.concurrent('no key at all: where to find one', async () => {
    const { code, stderr } = await cli.run(['tenants'], { env: { POSTHORN_API_KEY: '' } })
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^posthorn: no API key: set POSTHORN_API_KEY, or run this in the folder in which `start` was typed/,
    )
  })
})

test.concurrent('the key of `start` is sent to no other machine', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-cli-'))
  await writeFile(join(dataDir, 'api-key'), operatorToken)
  const env = { POSTHORN_API_KEY: '', POSTHORN_DATA_DIR: dataDir }
  const { code, stderr } = await cli.run(['tenants'], { env: { ...env, POSTHORN_URL: 'https://posthorn.example' } })
  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^posthorn: no API key for https:\/\/posthorn\.example \(from POSTHORN_URL\): set POSTHORN_API_KEY\./,
  )
  expect(await cli.run(['tenants'], { env })).toMatchObject({ code: 0 })
  await rm(dataDir, { recursive: true })
})

describe('what keeps a command from its API has an error of its own', () => {
  test.concurrent('a wrong key', async () => {
    const { code, stderr } = await cli.run(['tenants'], { env: { POSTHORN_API_KEY: 'phk_of-somebody-else' } })
    expect(code).toBe(4)
    expect(stderr).toMatch(
      /does not know the key from POSTHORN_API_KEY, which .*: set POSTHORN_API_KEY to a key of this one\n$/,
    )
    expect(stderr).not.toContain('of-somebody-else')
  })

  test.concurrent('a key that may not do this', async () => {
    const key = await cluster.call('POST', '/api-keys', { json: { name: 'p', kind: 'publish', tenant_id: 'only' } })
    const env = { POSTHORN_API_KEY: key.body.token }
    const refused = await cli.run(['tenants'], { env })
    expect(refused).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/may not do this: an operator key may do all/),
    })
    expect(await cli.json(['publish', 'only', 'a.b', '1'], { env })).toMatchObject([{ tenant_id: 'only' }])
  })

  test.concurrent('an API that is not there', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const { code, stderr } = await cli.run(['tenants', '--url', url])
    expect(code).toBe(3)
    expect(stderr).toBe(
      `posthorn: the API at ${url} (from --url) cannot be reached (ECONNREFUSED): start it (npx -y pnpm@12 start), or say where it is with --url or POSTHORN_URL\n`,
    )
  })

  test.concurrent('something else that answers', async ({ onTestFinished }) => {
    const page = createServer((_, response) => response.end('<h1>Welcome</h1>'))
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void page.close())
    const url = `http://127.0.0.1:${(page.address() as AddressInfo).port}`
    const { code, stderr } = await cli.run(['tenants', '--url', url])
    expect(code).toBe(3)
    expect(stderr).toMatch(/is not Posthorn's API/)
  })

  test.concurrent('a setting that is wrong', async () => {
    const { code, stderr } = await cli.run(['tenants'], { env: { POSTHORN_URL: 'tcp://posthorn' } })
    expect(code).toBe(1)
    expect(stderr).toBe('posthorn: POSTHORN_URL must be the address of the API, such as http://127.0.0.1:8080\n')
  })
})

test.concurrent('colours come on a terminal alone, and not with NO_COLOR', async () => {
  const tenant = await tenantWith('/ok')
  const [there, forbidden, piped] = await Promise.all([
    runOnTerminal(['endpoints', tenant], cli.env),
    runOnTerminal(['endpoints', tenant], { ...cli.env, NO_COLOR: '1' }),
    cli.run(['endpoints', tenant]),
  ])
  expect(there).toContain('\u001b[32menabled')
  expect(forbidden).toContain('enabled')
  for (const each of [forbidden, piped.stdout]) expect(each).not.toContain('\u001b')
})

test.concurrent('a list is read as far as it was asked for, over pages, and printed whole', async () => {
  const tenant = await tenantWith('/list')
  await cluster.publishAll(
    tenant,
    Array.from({ length: 430 }, (_, n) => ({ type: 'a.b', payload: String(n) })),
  )
  const seven = await cli.run(['deliveries', tenant, '-n', '7'])
  expect(seven.stdout.split('\n')).toHaveLength(9)
  expect(seven.stderr).toBe('... and there are more: --all, or a higher --limit\n')
  expect(await cli.json(['deliveries', tenant, '--limit', '250'])).toHaveLength(250)
  const all = await cli.json(['deliveries', tenant, '--all'])
  expect(new Set(all.map(({ event_id }) => event_id)).size).toBe(430)
})

test.concurrent('attempts that were not shown are spoken of, of whichever endpoint, and not where the output goes', async () => {
  const tenant = await tenantWith('/one')
  await cluster.makeEndpoint(tenant, { url: `${receiver.url}/two`, uid: 'second' })
  const event = await cluster.publish(tenant, 'a.b', '1')
  await delivered(tenant, event)
  await eventually(async () => (await cluster.attempts(tenant, event, 'second')).length === 1, 20_000)
  const more = '... and there are more: --all, or a higher --limit'
  const one = await cli.run(['attempts', tenant, event, '-n', '1'])
  expect(one).toEqual({ code: 0, stdout: expect.stringMatching(/^ENDPOINT .*\nep_.*\n$/), stderr: `${more}\n` })
  const answered = await cli.run(['attempts', tenant, event, '-n', '1', '--response'])
  expect(answered).toMatchObject({ code: 0, stderr: `${more}\n` })
  expect(answered.stdout).toMatch(/^ENDPOINT .*\nep_.*\n {2}date: /)
  expect(await runOnTerminal(['attempts', tenant, event, '-n', '1'], cli.env)).toMatch(
    /\r\nep_.*\r\n\.\.\. and there are more: /,
  )
  for (const limit of [['-n', '2'], ['--all'], ['--response'], ['-n', '1', '--json']]) {
    expect(await cli.run(['attempts', tenant, event, ...limit])).toMatchObject({ code: 0, stderr: '' })
  }
})

test.concurrent('recover shows its progress: a bar on a terminal, lines in a log, and none in JSON', async () => {
  const tenant = await tenantWith('/ok', { status: 'paused' })
  const events = Array.from({ length: 300 }, (_, n) => ({ type: 'a.b', payload: String(n) }))
  await cluster.publishAll(tenant, events)
  await cancelAll(tenant, events.length)
  const shown = await runOnTerminal(['recover', tenant, 'main', '--since', '1h'], cli.env)
  expect(shown).toMatch(/\[█{30}\] 100 % · 300 of 300 owed again\r\n/)
  expect(shown).toMatch(/job_\w+ done, 300 of 300\r\n$/)
  await cancelAll(tenant, events.length)
  const logged = await cli.run(['recover', tenant, 'main', '--since', '1h', '--states', 'canceled,failed'])
  expect(logged).toMatchObject({ code: 0, stdout: expect.stringMatching(/^job_\w+ done, 300 of 300\n$/) })
  expect(logged.stderr).toMatch(/\n100 % of 300 owed again\n$/)
  expect(logged.stderr).not.toContain('\r')
  await cancelAll(tenant, events.length)
  const told = await cli.run(['recover', tenant, 'main', '--since', '1h', '--json'])
  expect(told).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(told.stdout)).toMatchObject({ status: 'done', total: 300, done: 300 })
})

/** What a paused endpoint is owed is canceled, and the endpoint is left paused. */
async function cancelAll(tenant: string, count: number): Promise<void> {
  await cluster.patchEndpoint(tenant, 'main', { status: 'disabled' })
  await eventually(async () => {
    const { rows } = await cluster.pool.query<{ n: number }>(
      `select count(*)::int as n from posthorn.delivery d join posthorn.endpoint e on e.id = d.endpoint_id where e.tenant_id = $1`,
      [tenant],
    )
    return rows[0]?.n === 0
  }, 20_000)
  await cluster.patchEndpoint(tenant, 'main', { status: 'paused' })
  expect(await cli.json(['recover', tenant, 'main', '--since', '1h', '--dry-run'])).toMatchObject([{ canceled: count }])
}

test.concurrent('tail shows what becomes of deliveries, and outlives an API that is away', async ({
  onTestFinished,
}) => {
  const front = await startFront(cli.env['POSTHORN_URL']!)
  onTestFinished(() => front.close())
  const tenant = await tenantWith('/tail', { retry_schedule: [1] })
  const before = await cluster.publish(tenant, 'be.fore', '1')
  const tail = cli.start(['tail', tenant], { POSTHORN_URL: front.url })
  await tail.waitForLine(
    new RegExp(`^succeeded {2}be\\.fore {2}${before}/ep_\\w+ {2}1 attempt {2}200 {2}ended `),
    20_000,
  )
  front.faults.push('broken connection', 'broken connection', 'broken connection')
  const event = await cluster.publish(tenant, 'fails.once', '1')
  await tail.waitForLine(/the API does not answer: asking on/, 20_000)
  await tail.waitForLine(/the API answers again/, 20_000)
  await tail.waitForLine(new RegExp(`^succeeded {2}fails\\.once {2}${event}/ep_\\w+ {2}2 attempts {2}200`), 20_000)
  tail.signal('SIGINT')
  expect(await tail.exited).toEqual({ code: 0, signal: null })
  expect(tail.output()).not.toMatch(/pending|in_flight/)
})

test.concurrent('a signal ends a command with 128 and its number', async ({ onTestFinished }) => {
  const silent = createServer(() => undefined)
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void silent.closeAllConnections())
  const came = new Promise((resolve) => silent.once('request', resolve))
  const command = cli.start(['tenants'], { POSTHORN_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}` })
  await came
  command.signal('SIGTERM')
  expect(await command.exited).toEqual({ code: 143, signal: null })
})

test('exit codes and commands are those that the page names', async () => {
  const page = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8')
  const { stdout } = await cli.run(['--help'])
  const [, told = ''] = /^Exit codes: (.*)\.$/m.exec(stdout) ?? []
  const rows = [...page.matchAll(/^\| `(\d)` +\| (.+?) +\|$/gm)].map(([, code, what]) => `${code} ${what}`)
  expect(rows.join(', ')).toBe(told)
})
