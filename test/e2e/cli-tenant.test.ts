import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Cli, cliOf } from './cli-under-test.ts'

let cluster: Cluster
let cli: Cli
beforeAll(async () => {
  cluster = await startCluster({ dispatchers: 0 })
  cli = await cliOf(cluster)
})
afterAll(() => cluster?.stop())

const event = 'evt_01m8kt6bzcfcvr3kxrwj9eps8g'

describe('a tenant that is not there, as one that was mistyped', () => {
  test.concurrent.for<[string[]]>([
    [['endpoints', 'list', 'acmee']],
    [['endpoints', 'acmee']],
    [['deliveries', 'acmee']],
    [['deliveries', 'acmee', '--state', 'failed']],
    [['deliveries', 'acmee', '--event', event]],
    [['attempts', 'acmee', event]],
    [['attempts', 'acmee', `${event}/main`, '--response']],
  ])('%j is told so in a line, and is no empty list', async ([args]) => {
    expect(await cli.run(args)).toEqual({
      code: 5,
      stdout: '',
      stderr: expect.stringMatching(
        /^posthorn: there is no tenant acmee.*`posthorn tenants` lists those there are.*\n$/,
      ),
    })
  })

  test.concurrent('is JSON where JSON was asked for', async () => {
    const { code, stdout, stderr } = await cli.run(['deliveries', 'acmee', '--json'])
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'not_found', message: expect.stringMatching(/^there is no tenant acmee/) },
    })
  })

  test.concurrent('is told to the holder of a tenant key as well', async () => {
    await cluster.makeEndpoint('keeper', { url: 'https://example.com/' })
    const json = { name: 'k', kind: 'tenant', tenant_id: 'keeper' }
    const env = { POSTHORN_API_KEY: (await cluster.call('POST', '/api-keys', { json })).body.token }
    expect(await cli.run(['endpoints', 'keepr'], { env })).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/^posthorn: there is no tenant keepr/),
    })
    expect(await cli.json(['endpoints', 'keeper'], { env })).toHaveLength(1)
  })
})

test.concurrent('a tenant that is there and has nothing yet has an empty list, and an unknown event is told as such', async () => {
  await cluster.call('PUT', '/tenants/fresh', { json: {} })
  expect(await cli.run(['endpoints', 'fresh'])).toEqual({ code: 0, stdout: '', stderr: 'no endpoints\n' })
  expect(await cli.run(['deliveries', 'fresh'])).toEqual({ code: 0, stdout: '', stderr: 'no such deliveries\n' })
  expect(await cli.run(['attempts', 'fresh', event])).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(
      new RegExp(`^posthorn: GET /v1/tenants/fresh/events/${event}/deliveries was refused .*There is no such event`),
    ),
  })
})

describe('a mistyped command of endpoints', () => {
  const commands = 'list, add, show, enable, pause, disable, test, remove'

  test.concurrent.for<[string[]]>([
    [['ad', 'acme', 'https://example.com/hooks']],
    [['ad', 'acme', 'https://example.com/hooks', '--uid', 'main']],
    [['shwo', 'acme', 'main']],
    [['remvoe', 'acme', 'main', '--json']],
  ])('%j is no tenant, and the commands are named', async ([args]) => {
    const { code, stdout, stderr } = await cli.run(['endpoints', ...args])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`unknown command 'endpoints ${args[0]}': it is one of ${commands}, or a tenant alone`)
  })

  test.concurrent('alone is a tenant that is not there, and the commands are named', async () => {
    const { code, stderr } = await cli.run(['endpoints', 'ad'])
    expect(code).toBe(5)
    expect(stderr).toMatch(/^posthorn: there is no tenant ad:/)
    expect(stderr).toContain(`Was one of these commands meant: ${commands}?\n`)
    expect((await cli.run(['endpoints', 'list', 'ad'])).stderr).not.toContain(commands)
  })

  test.concurrent('is a tenant where there is one of that name, with options or without', async () => {
    await cluster.makeEndpoint('tests', { url: 'https://example.com/' })
    expect(await cli.json(['endpoints', 'tests'])).toHaveLength(1)
    expect(await cli.json(['endpoints', 'tests', '--limit', '1'])).toHaveLength(1)
    expect(await cli.json(['endpoints', '--limit', '1', 'tests'])).toHaveLength(1)
  })
})
