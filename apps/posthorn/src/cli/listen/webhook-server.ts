import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Verifier, WebhookError } from '@posthorn/client'
import { readBounded } from '../../read-bounded.ts'
import { listenFailure } from '../../roles/listen-failure.ts'
import { UsageError } from '../usage-error.ts'
import type { Forward, Forwarded } from './forward.ts'

/** More than the largest payload that can be published. */
const maxBodyBytes = 32 * 1024 * 1024

/** A request that came, and what was made of it. */
export type Arrival = {
  id: string | null
  type: string | null
  receivedAt: Date
  /** Null when it verifies; else why not, with what to do. */
  fault: { code: string; message: string } | null
  /** Names and values as they came, in order. */
  rawHeaders: string[]
  body: Buffer
  /** What the local server said; null when nothing was forwarded. */
  forwarded: Forwarded | null
  /** What Posthorn was answered. */
  status: number
}

export type WebhookServer = {
  port: number
  /** From now on webhooks are verified so; those that came before wait for it. */
  verifyWith(verifier: Verifier): void
  /** Answers what is under way, and closes. Idempotent. */
  stop(): Promise<void>
}

/**
 * Takes webhooks on a local port: verifies each, forwards what verifies, and answers Posthorn with what was said there.
 * @throws UsageError when the port cannot be had
 */
export async function openWebhookServer(options: {
  host: string
  port: number
  forward: Forward | null
  /** Those that are not forwarded, though they verify. */
  keepsTo(type: string | null): boolean
  onArrival(arrival: Arrival): void
}): Promise<WebhookServer> {
  const { promise: verifier, resolve: verifyWith } = Promise.withResolvers<Verifier>()
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') {
      return void response.writeHead(405, { allow: 'POST' }).end('posthorn listen takes webhooks\n')
    }
    const receivedAt = new Date()
    const body = await readBounded(request, maxBodyBytes)
    if (body === null) return void response.writeHead(413, { connection: 'close' }).end('too large\n')
    const fault = await faultOf(await verifier, request, body)
    const { rawHeaders } = request
    const type = header(request, 'posthorn-event-type')
    const goesOn = fault === null && options.forward !== null && !options.keepsTo(type)
    const forwarded = goesOn ? await options.forward!(rawHeaders, body) : null
    const status = fault?.status ?? forwarded?.answer?.status ?? (forwarded === null ? 204 : 502)
    answer(response, status, forwarded, fault)
    const id = header(request, 'webhook-id')
    options.onArrival({ id, type, receivedAt, fault, rawHeaders, body, forwarded, status })
  }
  const server = createServer((request, response) => {
    // A sender that goes away in the middle ends up here.
    handle(request, response).catch(() => response.destroy())
  })
  server.requestTimeout = 60_000
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(portFailure(error, options)))
    server.listen({ port: options.port, host: options.host, exclusive: true }, resolve)
  })
  let stopped: Promise<void> | null = null
  return {
    port: (server.address() as AddressInfo).port,
    verifyWith,
    stop() {
      stopped ??= new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 5_000).unref()
      })
      return stopped
    },
  }
}

function portFailure(error: unknown, { host, port }: { host: string; port: number }): Error {
  const failure = listenFailure(error, host, '--port', port)
  return failure === null ? (error as Error) : new UsageError(failure.message.replace('POSTHORN_HOST', '--host'))
}

type Fault = { code: string; message: string; status: number }

async function faultOf(verifier: Verifier, { headers }: IncomingMessage, body: Buffer): Promise<Fault | null> {
  try {
    await verifier(headers, body)
    return null
  } catch (error) {
    const { code, message, status } = error as WebhookError
    if (typeof status !== 'number') throw error
    return { code, message, status }
  }
}

function answer(response: ServerResponse, status: number, forwarded: Forwarded | null, fault: Fault | null): void {
  if (forwarded?.answer) {
    response.writeHead(status, forwarded.answer.headers).end(forwarded.answer.body)
  } else if (status === 204) {
    response.writeHead(204).end()
  } else {
    const text = fault?.message ?? forwarded?.error ?? ''
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
  }
}

function header(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name]
  return typeof value === 'string' ? value : null
}
