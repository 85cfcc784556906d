import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../apps/posthorn/src/embedded/free-port.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Beside those of docker-compose.yml, which a deployment on this machine may have. */
const network = { subnet: '172.31.254.0/24', range: '172.31.254.128/25', receiver: '172.31.254.10' }

export type Deployment = {
  /** A copy of the tree, as a clone has it. */
  folder: string
  image: string
  apiUrl: string
  /** The shell commands of the README's section on containers, block by block, for this deployment's port. */
  blocks: string[]
  /** Runs a shell script in the folder. @returns its stdout @throws with all its output unless it ends with 0 */
  sh(script: string): Promise<string>
  /** A setting of `.env`. */
  setting(name: string): Promise<string>
  /** Rows of a query in the deployment's Postgres, column by column, as text. */
  query(sql: string): Promise<string[][]>
  /** All that these containers wrote. */
  logs(...containers: string[]): Promise<string>
  /** Stops and removes all, volumes and images too. */
  remove(): Promise<void>
}

/** A copy of this repository in which Compose runs under a name, a port and addresses of its own. */
export async function createDeployment(): Promise<Deployment> {
  const name = `posthorn-test-${randomBytes(4).toString('hex')}`
  const folder = await mkdtemp(join(tmpdir(), `${name}-`))
  const files = await run('git ls-files -z --cached --others --exclude-standard', { cwd: root })
  for (const file of files.split('\0').filter(Boolean)) await cp(join(root, file), join(folder, file))
  const port = await freePort(null)
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    DOCKER_HOST: process.env['DOCKER_HOST'],
    DOCKER_CONFIG: process.env['DOCKER_CONFIG'],
    COMPOSE_PROJECT_NAME: name,
    POSTHORN_IMAGE: name,
    POSTHORN_PUBLISH: `127.0.0.1:${port}`,
    POSTHORN_ALLOWED_TARGETS: `${network.receiver}:8081`,
    NETWORK_SUBNET: network.subnet,
    NETWORK_RANGE: network.range,
    RECEIVER_ADDRESS: network.receiver,
  }
  const sh = (script: string): Promise<string> => run(script, { cwd: folder, env })
  return {
    folder,
    image: name,
    apiUrl: `http://127.0.0.1:${port}`,
    blocks: (await readBlocks()).map((block) => block.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)),
    sh,
    async setting(key) {
      const lines = (await readFile(join(folder, '.env'), 'utf8')).split('\n')
      return lines.find((line) => line.startsWith(`${key}=`))!.slice(key.length + 1)
    },
    async query(sql) {
      const text = await sh(`docker compose exec -T postgres psql -U posthorn -d posthorn -qAt <<'END'\n${sql}\nEND`)
      const lines = text.split('\n').filter(Boolean)
      return lines.map((line) => line.split('|'))
    },
    async logs(...containers) {
      const each = await Promise.all(containers.map((container) => sh(`docker logs ${container} 2>&1`)))
      return each.join('')
    },
    async remove() {
      await sh('docker compose --profile sample down --volumes --remove-orphans --timeout 5')
      await sh('docker image rm --force "$POSTHORN_IMAGE"')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function readBlocks(): Promise<string[]> {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const section = /^## Run it in containers\n([\s\S]*?)^## /m.exec(readme)![1]!
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map((match) => match[1]!)
}

function run(script: string, options: { cwd: string; env?: NodeJS.ProcessEnv }): Promise<string> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let all = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    all += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    all += text
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve(stdout)
      else reject(new Error(`${script}\nended with ${signal ?? code}:\n${all.slice(-8_000)}`))
    })
  })
}
