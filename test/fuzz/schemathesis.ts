import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/*
 * `pnpm fuzz [examples]`: schemathesis, which knows nothing of Posthorn but its OpenAPI document, against a running one. No answer
 * may be a 5xx, and none may have a status, a type or a body that the document does not name. Longer than a test may be:
 * test/api/fuzz.test.ts is the one that always runs. Needs Python, and says so where there is none.
 */
const version = '4.32.5'
const root = fileURLToPath(new URL('../../', import.meta.url))
const python = join(root, 'node_modules/.cache/posthorn-schemathesis/bin/python')
const token = 'phk_operator-of-the-fuzzer'
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
]

function install(): boolean {
  if (existsSync(python) && spawnSync(python, ['-c', 'import schemathesis']).status === 0) return true
  const venv = spawnSync('python3', ['-m', 'venv', join(python, '../..')], { stdio: 'inherit' })
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `schemathesis==${version}`]
  return venv.status === 0 && spawnSync(python, pip, { stdio: 'inherit' }).status === 0
}

/** @returns the API's URL */
async function whenReady(posthorn: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: posthorn.stdout! })) {
    const url = /^API (http:\/\/\S+)/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('Posthorn did not start')
}

async function fuzz(examples: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'posthorn-fuzz-'))
  await chmod(folder, 0o711)
  const env = { ...process.env, POSTHORN_PORT: '0', POSTHORN_API_KEY: token, POSTHORN_REQUESTS_PER_SECOND: '0' }
  const main = join(root, 'apps/posthorn/src/main.ts')
  const posthorn = spawn(process.execPath, [main, 'start'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(posthorn, 'exit')
  try {
    const url = await whenReady(posthorn)
    posthorn.stdout!.resume()
    const { status } = spawnSync(
      python,
      [
        ...['-m', 'schemathesis.cli', 'run', `${url}/openapi.json`],
        ...['--header', `authorization: Bearer ${token}`, '--checks', checks.join(',')],
        // It waits for a first attempt that a random URL may never get.
        ...['--exclude-operation-id', 'testEndpoint', '--max-examples', examples, '--request-timeout', '20'],
      ],
      { stdio: 'inherit', cwd: folder, env: { ...process.env, INIT_CWD: folder } },
    )
    return status ?? 1
  } finally {
    posthorn.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

if (install()) process.exitCode = await fuzz(process.argv[2] ?? '100')
else console.log('!!! SKIPPED: schemathesis cannot be installed here, for which python3 and its registry are needed')
