import { z } from '@hono/zod-openapi'
import { endpointParameter, idParameter, tenantParameter } from '../../http/ids.ts'

/** The path of one delivery; `event` is read to its UUID. */
export const deliveryParameters = z.object({
  tenant: tenantParameter,
  event: idParameter('evt', 'event'),
  endpoint: endpointParameter,
})
