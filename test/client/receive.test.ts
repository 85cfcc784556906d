import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { receive, type Webhook } from '@posthorn/client'
import { webhook as expressWebhook } from '@posthorn/client/express'
import { type WebhookRequest as FastifyRequest, webhook as fastifyWebhook } from '@posthorn/client/fastify'
import { webhook as honoWebhook, type WebhookEnv } from '@posthorn/client/hono'
import { createSigner } from '@posthorn/core'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

/*
 * Each adapter with its framework, on a real socket, sent what a dispatcher sends: good, and wrong in each way.
 */
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const old = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const secrets = [old, secret]
const limit = { maxBytes: 200_000 }

type Running = { url: string; close(): Promise<unknown> }
type Framework = (handle: (webhook: Webhook) => void) => Promise<Running>

async function listening(server: Server): Promise<Running> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

const frameworks: Record<string, Framework> = {
  async Express(handle) {
    const app = express()
    app.post('/', expressWebhook(secrets, limit), (req, res) => {
      handle(req.webhook)
      res.sendStatus(204)
    })
    app.post('/raw', express.raw({ type: '*/*', limit: '5mb' }), expressWebhook(secrets, limit), (req, res) => {
      handle(req.webhook)
      res.sendStatus(204)
    })
    app.post('/parsed', express.json(), expressWebhook(secrets, limit), (_req, res) => res.sendStatus(204))
    // Express' own handler writes the stack to stderr.
    app.set('env', 'test')
    return listening(createServer(app))
  },
  async Hono(handle) {
    const app = new Hono<WebhookEnv>()
    app.post('/', honoWebhook(secrets, limit), (c) => {
      handle(c.get('webhook'))
      return c.body(null, 204)
    })
    app.post(
      '/parsed',
      async (c, next) => {
        await c.req.json()
        await next()
      },
      honoWebhook(secrets, limit),
      (c) => c.body(null, 204),
    )
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    return listening(server)
  },
  async Fastify(handle) {
    const app = fastify({ forceCloseConnections: true })
    app.post('/', { preParsing: fastifyWebhook(secrets, limit) }, async (request, reply) => {
      const { webhook } = request as unknown as FastifyRequest
      handle(webhook)
      // Fastify's own parser has the same bytes.
      expect(request.body).toEqual(webhook.json())
      return reply.code(204).send()
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url, close: () => app.close() }
  },
  async Request(handle) {
    const good = receive(secrets, (webhook) => handle(webhook), limit)
    const parsed = async (request: Request) => {
      await request.json()
      return good(request)
    }
    const fetch = (request: Request) => (new URL(request.url).pathname === '/parsed' ? parsed(request) : good(request))
    return listening(serve({ fetch, port: 0, hostname: '127.0.0.1' }) as Server)
  },
}

const bytes = Buffer.from('{"total": 99.50, "é": "😊", "note": "\\u0000"}')

type Change = {
  body?: Uint8Array<ArrayBuffer>
  headers?: Record<string, string | undefined>
  offSeconds?: number
  path?: string
}

/** Sends what a dispatcher sends, but for the change. `body` is put in place of what was signed. */
async function send(url: string, { body, headers = {}, offSeconds = 0, path = '/' }: Change = {}, signed = bytes) {
  const seconds = Math.floor(Date.now() / 1000) + offSeconds
  const all: Record<string, string | undefined> = {
    'content-type': 'application/json',
    'posthorn-event-type': 'invoice.paid',
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(seconds),
    'webhook-signature': createSigner([secret]).sign('evt_1', seconds, signed),
    ...headers,
  }
  const sent = new Headers()
  for (const [name, value] of Object.entries(all)) if (value !== undefined) sent.set(name, value)
  const response = await fetch(url + path, { method: 'POST', headers: sent, body: body ?? new Uint8Array(signed) })
  return { status: response.status, text: await response.text() }
}

describe.each(Object.entries(frameworks))('%s', (name, start) => {
  let running: Running
  const got: Webhook[] = []
  beforeAll(async () => {
    running = await start((webhook) => got.push(webhook))
  })
  beforeEach(() => {
    got.length = 0
  })
  afterAll(() => running?.close())

  test('a webhook is handed over with its bytes, its id and its type', async () => {
    expect(await send(running.url)).toEqual({ status: 204, text: '' })
    expect(got).toMatchObject([{ id: 'evt_1', type: 'invoice.paid' }])
    expect(Buffer.from(got[0]!.body)).toEqual(bytes)
    expect(got[0]!.json()).toEqual(JSON.parse(bytes.toString()))
    expect((await send(running.url, {}, Buffer.from(JSON.stringify('x'.repeat(150_000))))).status).toBe(204)
  })

  test.each<[string, Change, number, RegExp]>([
    ['a tampered body', { body: new Uint8Array(Buffer.from('{"total": 99.51}')) }, 401, /no_match|No signature fits/],
    ['a missing header', { headers: { 'webhook-id': undefined } }, 400, /No webhook-id/],
    ['a clock off by an hour', { offSeconds: -3_600 }, 400, /36\d\d s ago/],
    ['a clock off by an hour the other way', { offSeconds: 3_600 }, 400, /3[56]\d\d s ahead/],
    ['no signature of its version', { headers: { 'webhook-signature': 'v1a,AA==' } }, 401, /No signature of v1/],
    ['more than it takes', { body: new Uint8Array(300_000) }, 413, /larger than 200000 bytes/],
  ])('%s is answered with why, and not handled', async (_, change, status, message) => {
    const answer = await send(running.url, change)
    expect({ status: answer.status, got }).toEqual({ status, got: [] })
    expect(answer.text).toMatch(message)
    expect(answer.text).not.toContain(secret.slice(6))
  })

  test.skipIf(name === 'Fastify')(
    'a body that was parsed before is a mistake of the receiver, and its log says so',
    async () => {
      const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
      expect((await send(running.url, { path: '/parsed' })).status).toBe(500)
      const log = String(logged.mock.calls)
      logged.mockRestore()
      // Express is silent under test, and what serves plain handlers here tells nobody.
      if (name === 'Hono') expect(log).toContain('something has parsed or read it before')
      expect(got).toEqual([])
    },
  )
})

test('behind express.raw() the bytes are taken from req.body', async () => {
  const got: Webhook[] = []
  const { url, close } = await frameworks['Express']!((webhook) => got.push(webhook))
  expect((await send(url, { path: '/raw' })).status).toBe(204)
  expect((await send(url, { path: '/raw', body: new Uint8Array(5) })).status).toBe(401)
  expect(got).toHaveLength(1)
  await close()
})
