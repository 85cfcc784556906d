import { z } from '@hono/zod-openapi'
import { idParameter, tenantParameter } from '../../http/ids.ts'

/** The path of one event; `event` is read to its UUID. */
export const eventParameters = z.object({ tenant: tenantParameter, event: idParameter('evt', 'event') })
