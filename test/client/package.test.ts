import { execFile, spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { EdgeVM } from '@edge-runtime/vm'
import { createSigner, generateSecret } from '@posthorn/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cacheFolder } from '../support/cache-folder.ts'
import { spawnNode } from '../support/processes.ts'
import { freePort } from './free-port.ts'

/*
 * The package as it is published: packed, installed in a fresh project outside the workspace, type-checked there, and run.
 */
const run = promisify(execFile)
const require = createRequire(import.meta.url)
const root = fileURLToPath(new URL('../../', import.meta.url))
let folder: string
let tarball: string

/** The one that runs this, where one does; else as the README says. */
const runner = process.env['npm_execpath'] ?? ''
const pnpm: [string, ...string[]] = basename(runner) === 'pnpm' ? [runner] : ['npx', '-y', 'pnpm@12']

const program = `
import { Posthorn, PosthornError, publish, verify, WebhookError, type Webhook } from '@posthorn/client'
import { createVerifier } from '@posthorn/client/verify'
import { webhook as express } from '@posthorn/client/express'
import { webhook as fastify } from '@posthorn/client/fastify'
import { webhook as hono, type WebhookEnv } from '@posthorn/client/hono'
import { webhook as next } from '@posthorn/client/next'

const posthorn = new Posthorn({ url: 'http://127.0.0.1:1', apiKey: 'phk_x', retries: 1 })
export async function main(): Promise<string> {
  const error: unknown = await posthorn.endpoints.create('acme', { url: 'https://example.com/', max_in_flight: 3 }).then(
    (endpoint) => endpoint.secret satisfies string | null,
    (reason: unknown) => reason,
  )
  // @ts-expect-error the contract knows no such field
  void (() => posthorn.endpoints.create('acme', { url: 'https://example.com/', max_in_fligth: 3 }))
  // @ts-expect-error a payload is asked for
  void (() => posthorn.events.publish('acme', { type: 'a' }))
  // @ts-expect-error no transaction
  void (() => publish({}, 'acme', { type: 'a', payload: 1 }))
  void (async () => {
    for await (const delivery of posthorn.deliveries.list('acme', { state: 'failed' })) delivery.attempts satisfies number
  })
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  const now = new Date(1614265330000)
  const webhook: Webhook = await verify([secret], headers, '{"test": 2432232314}', { now })
  const refused = await createVerifier(secret)(headers, '{}').catch((reason: WebhookError) => reason.code)
  const key = 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='
  const signature =
    'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=='
  await verify(key, { ...headers, 'webhook-signature': signature }, webhook.body, { now })
  const kinds = [express, fastify, hono, next].map((each) => typeof each)
  return [error instanceof PosthornError ? error.code : 'none', webhook.id, refused, new Set(kinds).size].join(' ')
}
export type Env = WebhookEnv
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthorn-package-'))
  // Its scripts run under the Node that runs this, as those of pnpm do.
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
  await run(pnpm[0], [...pnpm.slice(1), 'pack', '--pack-destination', folder], { cwd: `${root}packages/client`, env })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'fresh', private: true, type: 'module' }))
  await mkdir(join(folder, 'src'))
  await writeFile(join(folder, 'src/program.ts'), program)
  tarball = join(folder, 'posthorn-client-0.1.0.tgz')
  await run('npm', ['install', '--no-audit', '--no-fund', '--offline', tarball], { cwd: folder })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('it needs nothing else at run time, and has its types, its licence and no source', async () => {
  const installed = join(folder, 'node_modules/@posthorn/client')
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
  expect(manifest['dependencies']).toBeUndefined()
  expect(JSON.stringify(manifest['exports'])).not.toContain('.ts"]')
  expect(JSON.stringify(manifest)).not.toContain('workspace:')
  await readFile(join(installed, 'LICENSE'), 'utf8')
  await readFile(join(installed, 'README.md'), 'utf8')
  await expect(readFile(join(installed, 'src/index.ts'))).rejects.toMatchObject({ code: 'ENOENT' })
})

// The newest compiler, and the one that most projects have.
const compilers = {
  'TypeScript 7': join(root, 'node_modules/typescript/bin/tsc'),
  'TypeScript 5.9': createRequire(require.resolve('openapi-typescript')).resolve('typescript/bin/tsc'),
}

test.each([
  ['TypeScript 7', 'bundler', ['es2022', 'dom', 'dom.iterable']],
  ['TypeScript 5.9', 'nodenext', ['es2022']],
] as const)('it type-checks in a strict project: %s, %s, %j', async (compiler, resolution, lib) => {
  const name = `tsconfig.${compiler.replaceAll(' ', '-')}.${resolution}.json`
  const compilerOptions = {
    target: 'es2022',
    module: resolution === 'bundler' ? 'esnext' : 'nodenext',
    moduleResolution: resolution,
    lib,
    typeRoots: [`${root}node_modules/@types`],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
    outDir: 'out',
    rootDir: 'src',
  }
  await writeFile(join(folder, name), JSON.stringify({ compilerOptions, include: ['src'] }))
  const { status, stdout, stderr } = spawnSync(process.execPath, [compilers[compiler], '-p', name], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' })
})

const says = 'unreachable msg_p5jXN8AQM9LWM0D4loKWxJek too_old 1'
const main = `import('./out/program.js').then(({ main }) => main()).then(console.log)`
const system = spawnSync('/usr/bin/node', ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? ''
const has20 = /^v20\./.test(system)
if (!has20)
  console.warn(`SKIPPED: the packed client is not run under Node 20, for /usr/bin/node is ${system || 'not there'}`)

test('it runs under this Node', async () => {
  const { stdout } = await run(process.execPath, ['-e', main], { cwd: folder })
  expect(stdout.trim()).toBe(says)
})

test.skipIf(!has20)('it runs under Node 20, the oldest that it is for', async () => {
  const { stdout } = await run('/usr/bin/node', ['-e', main], { cwd: folder })
  expect(stdout.trim()).toBe(says)
})

test('the verifying part runs where there is nothing of Node, only what the web has', async () => {
  // As a bundler for an edge runtime makes it of the installed package.
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({ input: join(folder, 'node_modules/@posthorn/client/verify/index.js') })
  const { output } = await bundle.generate({ format: 'iife', name: 'posthorn' })
  await bundle.close()
  const vm = new EdgeVM()
  vm.evaluate(output[0].code)
  const answer = await vm.evaluate(`(async () => {
    if (typeof process !== 'undefined' || typeof Buffer !== 'undefined') return 'this is Node'
    const now = new Date(1614265330000)
    const signed = (signature) => new Request('http://127.0.0.1/', {
      method: 'POST',
      body: '{"test": 2432232314}',
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': signature,
      },
    })
    const v1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    const v1a = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=='
    const keys = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=']
    const results = []
    for (const [key, signature] of [[keys[0], v1], [keys[1], v1a], [keys[0], v1a]]) {
      const verified = posthorn.verifyRequest(key, signed(signature), { now })
      results.push(await verified.then(({ id }) => id, ({ code }) => code))
    }
    const handler = posthorn.receive(keys, () => new Response('done'), { now })
    results.push(await (await handler(signed(v1))).text())
    return results.join(' ')
  })()`)
  expect(answer).toBe('msg_p5jXN8AQM9LWM0D4loKWxJek msg_p5jXN8AQM9LWM0D4loKWxJek no_common_version done')
})

const nextApp = fileURLToPath(new URL('next-app', import.meta.url))
const installed = await installNext()
if (typeof installed === 'object') console.warn(`SKIPPED: the adapter for Next.js is not tested: ${installed.missing}`)

/** Next.js, which is half as large as all else here together, is installed for its test alone. */
async function installNext(): Promise<string | { missing: string }> {
  try {
    return await cacheFolder('next', await readFile(`${nextApp}/package-lock.json`, 'utf8'), async (made) => {
      for (const name of ['package.json', 'package-lock.json']) await cp(`${nextApp}/${name}`, join(made, name))
      await run('npm', ['ci', '--no-audit', '--no-fund', '--fetch-retries', '0'], { cwd: made, timeout: 50_000 })
    })
  } catch (error) {
    return { missing: `it cannot be installed (${(error as Error).message.split('\n')[0]})` }
  }
}

describe.skipIf(typeof installed === 'object')('a route handler of Next.js', () => {
  const secret = generateSecret()
  let url: string
  let end: (() => void) | undefined

  beforeAll(async () => {
    const cwd = String(installed)
    for (const name of ['app', 'next.config.mjs']) await cp(join(nextApp, name), join(cwd, name), { recursive: true })
    await mkdir(join(cwd, 'node_modules/@posthorn/client'), { recursive: true })
    await run('tar', ['xzf', tarball, '--strip-components', '1', '-C', join(cwd, 'node_modules/@posthorn/client')])
    const port = String(await freePort())
    const env = { NEXT_TELEMETRY_DISABLED: '1', POSTHORN_WEBHOOK_SECRET: secret }
    const args = ['dev', '--hostname', '127.0.0.1', '--port', port]
    const next = spawnNode(join(cwd, 'node_modules/next/dist/bin/next'), args, env, {
      cwd,
      outlivesTest: true,
      ownGroup: true,
    })
    await next.waitForLine(/Ready in/, 40_000)
    url = `http://127.0.0.1:${port}/webhooks`
    // It starts others, which outlive it when it is killed alone.
    end = () => process.kill(-next.pid, 'SIGKILL')
  })
  afterAll(() => end?.())

  test('gets what is verified; what is not is answered with why', async () => {
    const seconds = Math.floor(Date.now() / 1000)
    const body = '{"total": 99.50}'
    const signature = createSigner([secret]).sign('evt_1', seconds, Buffer.from(body))
    const headers = {
      'content-type': 'application/json',
      'posthorn-event-type': 'invoice.paid',
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': signature,
    }
    const good = await fetch(url, { method: 'POST', headers, body })
    expect(await good.json()).toEqual({ id: 'evt_1', type: 'invoice.paid', text: body, path: '/webhooks' })
    const tampered = await fetch(url, { method: 'POST', headers, body: '{"total": 99.51}' })
    expect({ status: tampered.status, body: await tampered.json() }).toMatchObject({
      status: 401,
      body: { code: 'no_match' },
    })
    const unsigned = await fetch(url, { method: 'POST', body })
    expect(await unsigned.json()).toMatchObject({ code: 'missing_header' })
  })
})
