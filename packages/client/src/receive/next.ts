/**
 * For route handlers of Next.js' app router, which get the request as it came.
 *
 * `export const POST = receive(secrets, async (webhook) => { webhook.json() ... })` in `app/webhooks/route.ts`
 */
export { receive as webhook } from '../verify/request.ts'
