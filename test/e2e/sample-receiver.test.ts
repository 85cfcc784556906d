import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type SpawnedProcess, spawnPosthorn } from '../support/processes.ts'

let cluster: Cluster
let receiver: SpawnedProcess
let url: string

beforeAll(async () => {
  cluster = await startCluster()
  receiver = spawnPosthorn(
    'receiver',
    {
      POSTHORN_DATABASE_URL: cluster.databaseUrl,
      POSTHORN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      POSTHORN_PORT: '0',
    },
    { outlivesTest: true },
  )
  const { port } = JSON.parse(await receiver.waitForLine(/"msg":"receiver listening"/, 20_000))
  url = `http://127.0.0.1:${port}`
})

afterAll(async () => {
  await cluster.stop()
})

test('the sample receiver, as a process of its own, verifies what its endpoints are sent', async () => {
  await cluster.makeEndpoint('acme', { url: `${url}/` })
  const id = await cluster.publish('acme', 'invoice.paid', '{"total":99.50}')
  const line = await receiver.waitForLine(new RegExp(id), 20_000)
  expect(line).toMatch(/^✓ invoice\.paid evt_[0-9a-z]{26} verified \(v1\), 15 bytes, \d+ ms$/)
})

test('what nobody signed is told apart, and answered with 401', async () => {
  const response = await fetch(`${url}/`, {
    method: 'POST',
    body: '{}',
    headers: {
      'webhook-id': 'evt_forged',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': 'v1,AAAA',
    },
  })
  expect(response.status).toBe(401)
  expect(await receiver.waitForLine(/evt_forged/, 20_000)).toMatch(/^✗ webhook evt_forged not verified: /)
})

test('SIGTERM ends it cleanly', async () => {
  receiver.signal('SIGTERM')
  expect(await receiver.exited).toEqual({ code: 0, signal: null })
})
