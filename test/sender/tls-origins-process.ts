import { setTimeout as sleep } from 'node:timers/promises'
import { createSender } from '../../apps/dispatcher/src/sender/index.ts'

/*
 * Makes one request to each of many TLS origins (https://h0.hooks.test:<port> and so on), all of whose connections stay
 * open, and prints what that took: `<outcomes that are no 200> <connections> <MiB before> <MiB with all open>`.
 */
const [port, count] = process.argv.slice(2).map(Number) as [number, number]
const sender = createSender({
  allowedTargets: [{ cidr: '127.0.0.1/32' }],
  userAgent: 'Posthorn/0.0.0-test',
  log: { error: console.error, warn: console.error, info: console.error },
  lookup: (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
  keepAliveMs: 600_000,
  maxConnectionAgeMs: 600_000,
})
const signal = new AbortController().signal
let failed = 0

async function post(n: number): Promise<void> {
  const { response, error } = await sender.send({
    url: `https://h${n}.hooks.test:${port}/`,
    headers: {},
    body: Buffer.from('{}'),
    timeoutMs: 30_000,
    fresh: false,
    signal,
  })
  if (response?.status === 200) return
  failed++
  console.error(error)
}

const mib = (): number => Math.round(process.memoryUsage().rss / 1024 ** 2)
// The first loads what TLS needs, the trusted certificates among it.
await post(0)
const before = mib()
let next = 1
await Promise.all(
  Array.from({ length: 256 }, async () => {
    while (next < count) await post(next++)
  }),
)
await sleep(500)
console.info(`opened ${failed} ${sender.openConnections()} ${before} ${mib()}`)
await sender.stop()
