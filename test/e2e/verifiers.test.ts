import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { verifyWebhook } from '../support/webhooks.ts'
import { type Verifier, verifiers } from '../verifiers/verifiers.ts'
import type { RecordedWebhook } from '../verifiers/webhook-file.ts'

/* What a real receiver got, verified by the official libraries of other languages. */

const run = promisify(execFile)
const waitMs = 30_000

const payloads = [
  '{"a":1}',
  '{"t":"😊 日本語 é e\u0301 \\ud83d\\ude0a","u":"https:\\/\\/e.test\\/a","h":"\\u0026<>\\u2028"}',
  '{"n": 1.0, "big":7615917337495251231,  "e":1e2,"z":-0}',
  '[]',
  '"text"',
  'null',
  ` {"spaces"\t:\r\n[ ] } `.trim(),
  `{"long":"${'x'.repeat(100_000)}"}`,
]

let cluster: Cluster
let receiver: Receiver
let folder: string
let made: { secret: string; public_key: string }
let fresh: { secret: string; public_key: string }
let webhooks: { recorded: RecordedWebhook; verifies: boolean; v1a: boolean }[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthorn-verifiers-'))
  receiver = await startReceiver()
  cluster = await startCluster()
  const input = { url: receiver.url, signatures: ['v1', 'v1a'] }
  made = (await cluster.makeEndpoint('acme', input)) as unknown as typeof made
  const { id } = made as unknown as { id: string }
  const rotate = async (signature: string) => {
    const answer = await cluster.call('POST', `/tenants/acme/endpoints/${id}/secret/rotate`, { json: { signature } })
    return answer.body.secrets.find((row: { signature: string }) => row.signature === signature)
  }
  // With two of each, as in the middle of a rotation.
  fresh = { secret: (await rotate('v1')).secret, public_key: (await rotate('v1a')).public_key }
  for (const payload of payloads) await cluster.publish('acme', 'a.b', payload)
  await receiver.waitFor(payloads.length, waitMs)
  webhooks = receiver.requests.flatMap(recordingsOf)
})

afterAll(async () => {
  await cluster?.stop()
  await receiver?.close()
  await rm(folder, { recursive: true, force: true })
})

/** As it came, with each secret that must verify it, and spoilt, when none may. */
function recordingsOf(request: Received): typeof webhooks {
  const header = (name: string): string => String(request.headers[name])
  const whole = {
    'webhook-id': header('webhook-id'),
    'webhook-timestamp': header('webhook-timestamp'),
    'webhook-signature': header('webhook-signature'),
    body: request.body.toString('base64'),
  }
  const other = Buffer.concat([request.body, Buffer.from(' ')]).toString('base64')
  return [made, fresh].flatMap(({ secret, public_key: publicKey }) =>
    [{ secret }, { public_key: publicKey }].flatMap((key) => {
      const v1a = 'public_key' in key
      return [
        { recorded: { ...whole, ...key } as RecordedWebhook, verifies: true, v1a },
        { recorded: { ...whole, ...key, body: other } as RecordedWebhook, verifies: false, v1a },
        { recorded: { ...whole, ...key, 'webhook-id': 'evt_x' } as RecordedWebhook, verifies: false, v1a },
      ]
    }),
  )
}

test('javascript', () => {
  expect(receiver.requests).toHaveLength(payloads.length)
  for (const request of receiver.requests) {
    for (const { secret } of [made, fresh]) verifyWebhook(secret, request)
  }
})

async function verifyWith(verifier: Verifier, { file, args }: { file: string; args: string[] }): Promise<void> {
  const path = join(folder, `${verifier.language}.json`)
  await writeFile(path, JSON.stringify(webhooks.map((each) => each.recorded)))
  const { stdout } = await run(file, [...args, path], { timeout: waitMs, maxBuffer: 16 * 1024 * 1024 })
  expect(JSON.parse(stdout)).toEqual(webhooks.map(({ verifies, v1a }) => (v1a && !verifier.v1a ? null : verifies)))
}

for (const verifier of verifiers) {
  const command = verifier.command()
  if (command === null) {
    console.warn(`SKIPPED: webhooks are not verified with ${verifier.language}'s library: "pnpm verifiers" installs it`)
  }
  test.skipIf(command === null)(verifier.language, () => verifyWith(verifier, command!))
}
