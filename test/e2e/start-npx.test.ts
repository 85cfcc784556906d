import { execFileSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { spawnNode } from '../support/processes.ts'
import { startReceiver } from '../support/receiver.ts'
import { eventually } from '../support/wait.ts'
import { delivered, processesOf, started, startIn, test } from './start-under-test.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test.for(['SIGTERM', 'SIGKILL'] as const)(
  '%s to npx alone: what it started drains and ends',
  async (signal, { folder }) => {
    const npx = realpathSync(execFileSync('which', ['npx'], { encoding: 'utf8' }).trim())
    const receiver = await startReceiver({ respond: () => ({ status: 200, delayMs: 1_500 }) })
    const runner = spawnNode(
      npx,
      ['-y', 'pnpm@12', 'start'],
      {
        ...networkSettings(),
        POSTHORN_DATA_DIR: folder.dataDir,
        POSTHORN_PORT: '0',
        POSTHORN_ALLOWED_TARGETS: `127.0.0.1:${receiver.port}`,
      },
      { cwd: root, ownGroup: true },
    )
    const start = await started(runner, folder.dataDir)
    await start.register({ url: receiver.url })
    const event = await start.publish('a.b', 1)
    await receiver.waitFor(1, 10_000)
    process.kill(runner.pid, signal)
    await eventually(() => processesOf(folder.path).length === 0, 20_000)

    const again = await startIn(folder.path, { POSTHORN_ALLOWED_TARGETS: `127.0.0.1:${receiver.port}` })
    expect(await delivered(again, event)).toMatchObject({ attempts: 1 })
    expect(receiver.requests).toHaveLength(1)
    await receiver.close()
  },
)

/** How this machine reaches the registry: proxies, certificates, npm's own settings. */
function networkSettings(): Record<string, string> {
  const wanted =
    /^(https?_proxy|no_proxy|ssl_cert_\w+|node_extra_ca_certs|npm_config_(registry|cache|userconfig|globalconfig))$/i
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => wanted.test(name))) as Record<string, string>
}
