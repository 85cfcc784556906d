/** 1 KiB of JSON, as a webhook's body often looks: some fields, some text. */
export const payload: Buffer = makePayload(1_024)

export function makePayload(bytes: number): Buffer {
  const words = 'invoice paid amount currency customer created order line item tax total note '
  const object = { type: 'bench.tested', data: { id: 1_042, total: 99.5, currency: 'EUR', note: '' } }
  const missing = bytes - JSON.stringify(object).length
  object.data.note = words.repeat(Math.ceil(missing / words.length)).slice(0, missing)
  return Buffer.from(JSON.stringify(object))
}

/** One event, as a product publishes it. */
export function eventBody(of: Buffer = payload): Buffer {
  return Buffer.concat([Buffer.from('{"type":"bench.tested","payload":'), of, Buffer.from('}')])
}

/** So many of them in one request. */
export function batchBody(events: number): Buffer {
  return Buffer.from(`{"events":[${Array(events).fill(eventBody()).join(',')}]}`)
}
