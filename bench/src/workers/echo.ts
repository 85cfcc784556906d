import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Hono } from 'hono'
import { serve } from './serve.ts'

/** The yardstick of accepting: Hono on node-server as the API has it, which reads the body and answers it. */
const app = new Hono()
app.post('/*', async (c) => c.body(await c.req.arrayBuffer(), 200, { 'content-type': 'application/json' }))

const functions = {
  /** @returns the port it listens on */
  listen: () =>
    new Promise<number>((resolve, reject) => {
      const server = createAdaptorServer({ fetch: app.fetch })
      server.once('error', reject)
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
    }),
}
export type EchoFunctions = typeof functions

serve(functions)
