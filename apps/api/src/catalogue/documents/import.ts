import { isEventType } from '@posthorn/core'
import type { FieldError } from '../../http/api-problem.ts'
import type { JsonObject } from '../schema/outline.ts'
import { maxDescriptionLength, maxExamples, type TypeValues } from '../type-values.ts'
import { readAsyncapi } from './asyncapi-read.ts'
import { BundleError, bundle } from './bundle.ts'
import { readOpenapi } from './openapi-read.ts'
import { follow, isObject } from './references.ts'

export type DocumentFormat = 'asyncapi' | 'openapi'

/** What a document says of one type. */
export type Described = {
  name: string
  description: unknown
  archived: boolean
  examples: unknown[]
  /** Where its schema stands; null for none. */
  schema: { value: unknown; at: string } | null
  /** Why it cannot be taken, if that is known already. */
  refusal?: string
}

/** A type as it would be in the catalogue, or what is wrong with it. */
export type ImportedType = { name: string } & ({ values: TypeValues } | { errors: FieldError[] })

export const maxTypes = 1_000

/**
 * Reads the types that a document describes. Nothing is fetched: what it refers to must stand in it.
 * @returns what is wrong with the document as a whole, where something is
 */
export function readDocument(document: JsonObject): { format: DocumentFormat; types: ImportedType[] } | FieldError {
  const format = 'asyncapi' in document ? 'asyncapi' : 'openapi'
  const described = format === 'asyncapi' ? readAsyncapi(document) : readOpenapi(document)
  if (!Array.isArray(described)) return described
  if (described.length > maxTypes) return { path: '', message: `Describes more than ${maxTypes} types.` }
  const seen = new Set<string>()
  const types = described.map((each): ImportedType => {
    const twice = seen.has(each.name)
    seen.add(each.name)
    return twice ? refuse(each.name, '', 'Is there twice.') : toType(document, each)
  })
  return { format, types }
}

function toType(
  document: JsonObject,
  { name, description, archived, examples, schema, refusal }: Described,
): ImportedType {
  if (!isEventType(name)) {
    return refuse(
      name.slice(0, 200),
      '',
      'Is no event type: words of A-Z a-z 0-9 _ - joined by full stops, at most 128 long.',
    )
  }
  if (refusal !== undefined) return refuse(name, '', refusal)
  const text = typeof description === 'string' ? description : ''
  if (text.length > maxDescriptionLength) {
    return refuse(name, '/description', `Must have at most ${maxDescriptionLength} characters.`)
  }
  if (examples.length > maxExamples) return refuse(name, '/examples', `Must have at most ${maxExamples} elements.`)
  try {
    return { name, values: { description: text, schema: take(document, schema), examples, archived } }
  } catch (error) {
    if (error instanceof BundleError) return refuse(name, '/schema', error.message)
    throw error
  }
}

/** The schema by itself: one that only refers to another is that other. */
function take(document: JsonObject, schema: Described['schema']): JsonObject | null {
  if (schema === null || schema.value === true) return null
  const isReference = isObject(schema.value) && Object.keys(schema.value).join() === '$ref'
  const { value, at } = isReference ? follow(document, schema.value, schema.at) : schema
  if (!isObject(value)) throw new BundleError('There is no schema.')
  return bundle(document, at)
}

function refuse(name: string, path: string, message: string): ImportedType {
  return { name, errors: [{ path, message }] }
}
