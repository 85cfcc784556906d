import { webhook } from '@posthorn/client/express'
import express from 'express'

// While a secret is rotated, give both, with a comma between.
const secrets = (process.env['POSTHORN_WEBHOOK_SECRET'] ?? '').split(',')
// A webhook may come more than once: what has been handled is passed over. In a product, a table with a unique key.
const handled = new Set<string>()

const app = express()
// Before app.use(express.json()): the bytes are verified as they came.
app.post('/webhooks', webhook(secrets), (req, res) => {
  const { id, type, ...event } = req.webhook
  if (!handled.has(id)) {
    handled.add(id)
    process.stdout.write(`${type} ${event.text()}\n`)
  }
  res.sendStatus(204)
})

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(
    `receiving on http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/webhooks\n`,
  )
})
