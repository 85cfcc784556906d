import { webhook } from '@posthorn/client/next'

export const POST = webhook(process.env.POSTHORN_WEBHOOK_SECRET, async ({ id, type, text }, request) =>
  Response.json({ id, type, text: text(), path: request.nextUrl.pathname }),
)
