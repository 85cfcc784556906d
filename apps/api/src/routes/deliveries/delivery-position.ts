import { z } from '@hono/zod-openapi'
import type { DeliveryPage, DeliveryPosition } from '@posthorn/core/sql'
import { uuidSchema } from '../../http/ids.ts'
import { type Cursor, createCursor } from '../../http/pagination.ts'
import { presentDelivery } from './delivery.ts'

const position = z.tuple([uuidSchema, uuidSchema.nullable()])
type Tuple = z.infer<typeof position>

export type DeliveryCursor = Cursor<Tuple>

export function createDeliveryCursor(list: string): DeliveryCursor {
  return createCursor<Tuple>(list, position)
}

/** @throws ApiProblem 422 */
export function readPosition(cursor: DeliveryCursor, text: string | undefined): DeliveryPosition | undefined {
  const read = cursor.read(text)
  return read === undefined ? undefined : { eventId: read[0], endpointId: read[1] }
}

export function presentPage(cursor: DeliveryCursor, tenantId: string, { rows, next }: DeliveryPage) {
  return {
    data: rows.map((row) => presentDelivery(tenantId, row)),
    next_cursor: next === null ? null : cursor.write([next.eventId, next.endpointId]),
  }
}
