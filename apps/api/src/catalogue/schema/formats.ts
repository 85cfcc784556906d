import type { Format } from 'ajv'
import { fastFormats, fullFormats } from 'ajv-formats/dist/formats.js'
import type { Budget } from './budget.ts'

/** What is longer is not of any of these. It also bounds what their expressions can cost. */
const maxLength = 2_048

const checked: Readonly<Record<string, Format>> = {
  'date-time': fullFormats['date-time'],
  date: fullFormats.date,
  time: fullFormats.time,
  duration: fullFormats.duration,
  email: fastFormats.email,
  hostname: fullFormats.hostname,
  ipv4: fullFormats.ipv4,
  ipv6: fullFormats.ipv6,
  uri: fullFormats.uri,
  'uri-reference': fullFormats['uri-reference'],
  uuid: fullFormats.uuid,
  'json-pointer': fullFormats['json-pointer'],
}

/** Whether a format is checked; others are annotations. */
export function isCheckedFormat(name: unknown): name is string {
  return typeof name === 'string' && Object.hasOwn(checked, name)
}

/** The formats that are checked, each bounded in length and counted. */
export function createFormats(budget: Budget): Record<string, (text: string) => boolean> {
  return Object.fromEntries(
    Object.entries(checked).map(([name, format]) => {
      const test = testOf(format)
      return [
        name,
        (text: string) => {
          budget.spend(8 + text.length)
          return text.length <= maxLength && test(text)
        },
      ]
    }),
  )
}

function testOf(format: Format): (text: string) => boolean {
  if (format instanceof RegExp) return (text) => format.test(text)
  const validate = typeof format === 'object' ? format.validate : format
  if (validate instanceof RegExp) return (text) => validate.test(text)
  if (typeof validate === 'function') return validate as (text: string) => boolean
  throw new Error('a format that is none')
}
