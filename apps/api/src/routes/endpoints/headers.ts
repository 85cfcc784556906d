import { z } from '@hono/zod-openapi'

/** What a header's value reads as. It cannot be written back: that would overwrite a credential with stars. */
export const maskedValue = '***'

const maxHeaders = 32
const maxNameLength = 128
const maxValueLength = 1024

// RFC 9110, 5.6.2.
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// What goes over the wire as Latin-1, without controls, and without the white space at the ends that receivers cut off.
const fieldValue = /^(?:[\x21-\x7e\xa0-\xff](?:[\x20-\x7e\xa0-\xff]*[\x21-\x7e\xa0-\xff])?)?$/

const reservedPrefixes = ['webhook-', 'posthorn-', 'proxy-']
const reservedNames = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
])

/** Whether the name is of the signature, the framing or the connection, or otherwise ours, in any letter case. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return reservedNames.has(lower) || reservedPrefixes.some((prefix) => lower.startsWith(prefix))
}

function nameFault(name: string, seen: Set<string>): string | null {
  if (name.length > maxNameLength || !token.test(name)) {
    return `A header's name is an HTTP token (letters, digits, !#$%&'*+.^_\`|~-) of at most ${maxNameLength} characters.`
  }
  if (isReservedHeader(name)) {
    const names = [...reservedPrefixes.map((prefix) => `${prefix}*`), ...reservedNames]
    return `The name is reserved, as are ${names.join(', ')}.`
  }
  if (seen.has(name.toLowerCase())) return 'The name is there already, in other letter case.'
  seen.add(name.toLowerCase())
  return null
}

function valueFault(value: string): string | null {
  if (value.length > maxValueLength) return `Must have at most ${maxValueLength} characters.`
  if (value === maskedValue) return 'Is the mask of a value that was read: send the value itself.'
  if (!fieldValue.test(value)) {
    return 'Must not hold control characters, characters above U+00FF, or white space at its ends.'
  }
  return null
}

/** An endpoint's own headers, refused here if any attempt that carries them would fail or mislead. */
export const headersSchema = z
  .record(z.string(), z.string())
  .superRefine((headers, context) => {
    const entries = Object.entries(headers)
    if (entries.length > maxHeaders) {
      context.addIssue({ code: 'custom', message: `Must have at most ${maxHeaders} headers.` })
      return
    }
    const seen = new Set<string>()
    for (const [name, value] of entries) {
      const fault = nameFault(name, seen) ?? valueFault(value)
      if (fault !== null) context.addIssue({ code: 'custom', path: [name], message: fault })
    }
  })
  .openapi({ example: { 'x-api-key': 'value' }, description: 'Sent with each attempt. Values are Latin-1.' })
