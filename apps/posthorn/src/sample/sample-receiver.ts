import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeId } from '@posthorn/core'
import { readBounded } from '../read-bounded.ts'
import type { LiveSecrets, Verifier } from './live-secrets.ts'

/** More than the largest payload that can be published. */
const maxBodyBytes = 32 * 1024 * 1024
const rememberedEvents = 10_000

export type SampleReceiver = {
  port: number
  /** Answers what is under way, and closes. Idempotent. */
  stop(): Promise<void>
}

/**
 * A receiver to try things out on: verifies what it gets with the official `standardwebhooks` package and prints a line
 * for each. `/fail` answers 500 once for each event. It takes the first of the ports that it can listen on.
 * @returns null when it can listen on none
 */
export async function openSampleReceiver(options: {
  /** The address to listen on. */
  host: string
  ports: readonly number[]
  /** Host names that lead to it, beside those of the loopback address. */
  names: readonly string[]
  /** The secrets of the endpoints at these origins. */
  secretsOf: (origins: readonly string[]) => LiveSecrets
  print: (line: string) => void
}): Promise<SampleReceiver | null> {
  const names = ['127.0.0.1', 'localhost', ...options.names]
  for (const wanted of options.ports) {
    const server = createServer()
    if (!(await listens(server, options.host, wanted))) continue
    const { port } = server.address() as AddressInfo
    const secrets = options.secretsOf(names.map((name) => `http://${name}:${port}`))
    const handle = createHandler(secrets, options.print)
    server.on('request', (request, response) => {
      // A sender that goes away in the middle ends up here.
      handle(request, response).catch(() => response.destroy())
    })
    let stopped: Promise<void> | null = null
    return {
      port,
      stop() {
        stopped ??= new Promise<void>((resolve) => {
          server.close(() => resolve())
          server.closeIdleConnections()
          setTimeout(() => server.closeAllConnections(), 1_000).unref()
        })
        return stopped
      },
    }
  }
  return null
}

function listens(server: Server, host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const onError = (): void => resolve(false)
    server.once('error', onError)
    server.listen({ port, host, exclusive: true }, () => {
      server.off('error', onError)
      resolve(true)
    })
  })
}

function createHandler(secrets: LiveSecrets, print: (line: string) => void) {
  const failed = new Set<string>()

  /** True at an event's first arrival at /fail. */
  function failsNow(id: string): boolean {
    if (failed.has(id)) return false
    for (const oldest of failed) {
      if (failed.size < rememberedEvents) break
      failed.delete(oldest)
    }
    failed.add(id)
    return true
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const receivedAt = Date.now()
    const answer = (status: number, text: string): void => {
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
    }
    if (request.method !== 'POST') {
      return answer(200, "Posthorn's sample receiver: verifies the webhooks that are posted here. /fail fails once.")
    }
    const body = await readBounded(request, maxBodyBytes)
    if (body === null) return answer(413, 'too large')
    const id = header(request, 'webhook-id')
    const what = printable(`${header(request, 'posthorn-event-type') || 'webhook'} ${id || '(without an id)'}`)
    const found = await verifierOf(secrets, request, body)
    if (typeof found === 'string') {
      print(`✗ ${what} not verified: ${found}`)
      return answer(401, found)
    }
    if (request.url?.split('?', 1)[0] === '/fail' && failsNow(id)) {
      print(`✗ ${what} answered 500 on purpose, as /fail does once for each event: watch for the retry`)
      return answer(500, 'failing once, on purpose')
    }
    const publishedAt = publishTime(id)
    const took = publishedAt === null ? '' : `, ${Math.max(0, receivedAt - publishedAt)} ms`
    print(`✓ ${what} verified (${found.version}), ${body.length} bytes${took}`)
    answer(200, 'verified')
  }
}

/** Which of the live secrets verifies it, or why none does. */
async function verifierOf(secrets: LiveSecrets, request: IncomingMessage, body: Buffer): Promise<Verifier | string> {
  const headers = {
    'webhook-id': header(request, 'webhook-id'),
    'webhook-timestamp': header(request, 'webhook-timestamp'),
    'webhook-signature': header(request, 'webhook-signature'),
  }
  let reason = 'no endpoint with this URL is registered'
  const arrivedAt = performance.now()
  // A secret may be newer than what is known of them.
  for (const read of [secrets.recent, () => secrets.since(arrivedAt)]) {
    const verifiers = await read().catch(() => null)
    if (verifiers === null) return 'the secrets cannot be read now'
    for (const verifier of verifiers) {
      const fault = verifier.faultOf(body, headers)
      if (fault === null) return verifier
      reason = fault
    }
  }
  return reason
}

function header(request: IncomingMessage, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

/** What comes over the wire must not steer a terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200)
}

/** The milliseconds in an event's id, which is a UUIDv7; null for any other id. */
function publishTime(id: string): number | null {
  const uuid = decodeId('evt', id)
  return uuid === null ? null : Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
}
