import { mean } from '../measure/statistics.ts'
import type { Scenario } from '../scenario.ts'
import { checkAccepted, pausedTenant, prepare } from './accept.ts'

/** An invoice as products publish them. */
const invoice = {
  id: 'inv_01jdv8zq5x6t9m3c7k2r4w8y0b',
  number: 1_042,
  status: 'paid',
  currency: 'EUR',
  issued_at: '2026-11-30T09:15:00Z',
  due_on: '2026-12-30',
  customer: { id: 'cus_01jdv8zq5x', name: 'Acme Tools GmbH', email: 'billing@acme.example', country: 'DE' },
  lines: Array.from({ length: 8 }, (_, n) => ({
    sku: `SKU-${1_000 + n}`,
    text: `Item number ${n + 1} of the order`,
    quantity: n + 1,
    unit_price: 12.5,
    total: 12.5 * (n + 1),
  })),
  note: null,
  total: 450,
}

const line = {
  type: 'object',
  required: ['sku', 'quantity', 'unit_price', 'total'],
  properties: {
    sku: { type: 'string', maxLength: 40 },
    text: { type: 'string', maxLength: 200 },
    quantity: { type: 'integer', minimum: 1 },
    unit_price: { type: 'number', minimum: 0, multipleOf: 0.01 },
    total: { type: 'number', minimum: 0, multipleOf: 0.01 },
  },
  additionalProperties: false,
}

const customer = {
  type: 'object',
  required: ['id', 'name'],
  properties: {
    id: { type: 'string', pattern: '^cus_[0-9a-z]+$' },
    name: { type: 'string', minLength: 1, maxLength: 200 },
    email: { type: 'string', format: 'email' },
    country: { type: 'string', pattern: '^[A-Z]{2}$' },
  },
  additionalProperties: false,
}

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  required: ['id', 'number', 'status', 'currency', 'customer', 'lines', 'total'],
  properties: {
    id: { type: 'string', pattern: '^inv_[0-9a-z]{26}$' },
    number: { type: 'integer', minimum: 1 },
    status: { enum: ['draft', 'open', 'paid', 'void'] },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    issued_at: { type: 'string', format: 'date-time' },
    due_on: { type: 'string', format: 'date' },
    customer: { $ref: '#/$defs/customer' },
    lines: { type: 'array', minItems: 1, maxItems: 1_000, items: { $ref: '#/$defs/line' } },
    note: { type: ['string', 'null'], maxLength: 500 },
    total: { type: 'number', minimum: 0 },
  },
  additionalProperties: false,
  $defs: { customer, line },
}

const payload = Buffer.from(JSON.stringify(invoice))
const eventOf = (type: string): Buffer =>
  Buffer.concat([Buffer.from(`{"type":"${type}","payload":`), payload, Buffer.from('}')])
const unchecked = eventOf('invoice.open')
const checked = eventOf('invoice.paid')

/** Unchecked and checked phases, in turn. */
const rounds = 3

export const acceptChecked: Scenario = {
  name: 'accept-checked',
  what: 'events accepted one a request whose payload is checked against a schema, and the cost of one, unchecked and checked in turn',
  unit: 'events/s',
  yardstick: 'unchecked',
  targets: [
    { metric: 'cost', is: 'below', value: 1.3, label: '1.3 times the time of an unchecked one' },
    { metric: 'api_cpu_ratio', is: 'below', value: 1.3, label: "1.3 times the API's processor" },
  ],
  byDefault: false,
  async run(stage) {
    const { observer, publish, api } = await prepare(stage)
    await observer.query(`insert into posthorn.event_type (name, schema) values ('invoice.paid', $1)`, [
      JSON.stringify(schema),
    ])
    const seconds = stage.options.seconds ?? 5
    const phases: Record<'unchecked' | 'checked', { rate: number; cpuUs: number }[]> = { unchecked: [], checked: [] }
    let events = 0
    async function phase(kind: 'unchecked' | 'checked', body: Buffer): Promise<void> {
      stage.say(kind)
      const before = api.cpuSeconds()
      const { rate, done } = await publish({ tenant: pausedTenant, batched: false, seconds, body })
      phases[kind].push({ rate, cpuUs: ((api.cpuSeconds() - before) * 1_000_000) / done })
      events += done
    }
    // Compiled code and warm caches for both.
    await phase('unchecked', unchecked)
    await phase('checked', checked)
    phases.unchecked = []
    phases.checked = []
    for (let round = 0; round < rounds; round++) {
      await phase('unchecked', unchecked)
      await phase('checked', checked)
    }
    await phase('unchecked', unchecked)
    await checkAccepted(observer, { [pausedTenant]: events }, events, payload.length)
    const rates = { unchecked: meanOf(phases.unchecked, 'rate'), checked: meanOf(phases.checked, 'rate') }
    const cpuUs = { unchecked: meanOf(phases.unchecked, 'cpuUs'), checked: meanOf(phases.checked, 'cpuUs') }
    return {
      value: rates.checked,
      ratio: rates.checked / rates.unchecked,
      metrics: {
        ...api.metrics(),
        cost: rates.unchecked / rates.checked,
        api_cpu_ratio: cpuUs.checked / cpuUs.unchecked,
      },
      details: {
        payload_bytes: payload.length,
        unchecked: rates.unchecked,
        cost: rates.unchecked / rates.checked,
        api_cpu_us_unchecked: cpuUs.unchecked,
        api_cpu_us_checked: cpuUs.checked,
        api_cpu_ratio: cpuUs.checked / cpuUs.unchecked,
        events_checked: events,
        ...api.metrics(),
      },
    }
  },
}

function meanOf<K extends string>(phases: readonly Record<K, number>[], key: K): number {
  return mean(phases.map((phase) => phase[key]))
}
