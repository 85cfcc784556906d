import type { ErrorObject } from 'ajv'
import type { FieldError } from '../../http/api-problem.ts'
import { jsonPointer } from '../../http/json-pointer.ts'
import { choiceKeyword, uniqueKeyword } from './outline.ts'

const maxErrors = 50

/** What is wrong with a value, in words of the contract, each by a pointer that begins with `prefix`. */
export function toFieldErrors(errors: readonly ErrorObject[], prefix: string): FieldError[] {
  const told = new Map<string, FieldError>()
  for (const error of errors) {
    // What of a choice failed is told by the choice.
    if (error.keyword === 'if') continue
    const steps = [...readPointer(error.instancePath), ...fieldOf(error)]
    const made = { path: prefix + jsonPointer(steps), message: phrase(error) }
    told.set(`${made.path}\n${made.message}`, made)
    if (told.size === maxErrors) break
  }
  return [...told.values()]
}

/** The member that is meant, where Ajv names the object around it. */
function fieldOf({ keyword, params }: ErrorObject): string[] {
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return [String(params['missingProperty'])]
    case 'additionalProperties':
      return [String(params['additionalProperty'])]
    case 'unevaluatedProperties':
      return [String(params['unevaluatedProperty'])]
    case 'propertyNames':
      return [String(params['propertyName'])]
    default:
      return []
  }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

function phrase({ keyword, params }: ErrorObject): string {
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return 'Required.'
    case 'additionalProperties':
    case 'unevaluatedProperties':
    case 'false schema':
      return 'May not be there.'
    case 'propertyNames':
      return 'May not be called so.'
    case 'type': {
      const types = [params['type'] as string | string[]].flat()
      return `Must be ${types.map((type) => kinds[type] ?? type).join(' or ')}.`
    }
    case 'const':
      return `Must be ${shown(params['allowedValue'])}.`
    case 'enum':
    case choiceKeyword:
      return `Must be ${(params['allowedValues'] as unknown[]).slice(0, 20).map(shown).join(' or ')}.`
    case 'format':
      return `Must be of the format ${params['format']}.`
    case 'pattern':
      return `Must match ${shown(params['pattern'])}.`
    case 'multipleOf':
      return `Must be a multiple of ${params['multipleOf']}.`
    case 'minimum':
      return `Must be at least ${params['limit']}.`
    case 'maximum':
      return `Must be at most ${params['limit']}.`
    case 'exclusiveMinimum':
      return `Must be more than ${params['limit']}.`
    case 'exclusiveMaximum':
      return `Must be less than ${params['limit']}.`
    case 'minLength':
      return `Must have at least ${count(params, 'character')}.`
    case 'maxLength':
      return `Must have at most ${count(params, 'character')}.`
    case 'minItems':
      return `Must have at least ${count(params, 'element')}.`
    case 'maxItems':
    case 'items':
    case 'unevaluatedItems':
      return `Must have at most ${count(params, 'element')}.`
    case 'minProperties':
      return `Must have at least ${count(params, 'member')}.`
    case 'maxProperties':
      return `Must have at most ${count(params, 'member')}.`
    case uniqueKeyword:
      return 'Must have no element twice.'
    case 'contains':
      return 'Has too few or too many elements of the kind that it must have.'
    case 'anyOf':
      return 'Must match one of several schemas, and matches none.'
    case 'oneOf':
      return 'Must match exactly one of several schemas.'
    case 'not':
      return 'Matches what it must not.'
    default:
      return 'Does not match the schema.'
  }
}

function count(params: ErrorObject['params'], what: string): string {
  const limit = Number(params['limit'] ?? params['len'])
  return `${limit} ${what}${limit === 1 ? '' : 's'}`
}

/** A value of the schema: short, and well-formed. */
function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text
}

/** The steps of a JSON pointer. */
function readPointer(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
