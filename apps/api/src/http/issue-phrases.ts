import type { z } from 'zod'

/** The validator's own messages begin so; a schema's are told as they are. */
const ownMessage = /^(?:Invalid |Too (?:big|small)|Unrecognized )/

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

/** What is wrong, in words of the contract: the validator's speak of its own types. */
export function phraseIssue(issue: z.core.$ZodIssue): string {
  if (!ownMessage.test(issue.message)) return sentence(issue.message)
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'Required.'
      return `Must be ${kinds[issue.expected] ?? 'of another type'}.`
    case 'invalid_value':
      return `Must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}.`
    case 'too_small':
      return `Must ${bound(issue.origin, 'least', Number(issue.minimum))}.`
    case 'too_big':
      return `Must ${bound(issue.origin, 'most', Number(issue.maximum))}.`
    case 'invalid_key':
      return 'Has a key that may not be there.'
    default:
      return 'Is not well-formed.'
  }
}

function bound(origin: string, which: 'least' | 'most', value: number): string {
  const at = `at ${which} ${value}`
  if (origin === 'string') return `have ${at} ${value === 1 ? 'character' : 'characters'}`
  if (origin === 'array' || origin === 'set') return `have ${at} ${value === 1 ? 'element' : 'elements'}`
  return `be ${at}`
}

function sentence(message: string): string {
  return message.endsWith('.') ? message : `${message}.`
}
