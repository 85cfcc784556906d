import { z } from '@hono/zod-openapi'
import { endpointParameter, tenantParameter } from '../../http/ids.ts'

/** The path of one endpoint. */
export const endpointParameters = z.object({ tenant: tenantParameter, endpoint: endpointParameter })
