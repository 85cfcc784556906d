import { oneSchema, schemaList, schemaMap } from '../schema/keywords.ts'
import type { JsonObject } from '../schema/outline.ts'

/**
 * A copy of a schema with each `$ref` written anew. Looks only where schemas stand: a member that is called `$ref`, or a value that
 * holds one, is no reference.
 */
export function mapReferences(schema: unknown, rewrite: (reference: string) => string): unknown {
  if (!isObject(schema)) return schema
  const copy: JsonObject = {}
  for (const [keyword, held] of Object.entries(schema)) {
    if (keyword === '$ref' && typeof held === 'string') copy[keyword] = rewrite(held)
    else if (Object.hasOwn(oneSchema, keyword)) copy[keyword] = mapReferences(held, rewrite)
    else if (Object.hasOwn(schemaList, keyword) && Array.isArray(held)) {
      copy[keyword] = held.map((each) => mapReferences(each, rewrite))
    } else if (Object.hasOwn(schemaMap, keyword) && isObject(held)) {
      const entries = Object.entries(held)
      copy[keyword] = Object.fromEntries(entries.map(([name, each]) => [name, mapReferences(each, rewrite)]))
    } else copy[keyword] = held
  }
  return copy
}

/** What a reference into a document (`#/...`) points at; undefined for nothing, and for what is outside of it. */
export function resolve(document: JsonObject, reference: string): unknown {
  if (reference === '#') return document
  if (!reference.startsWith('#/')) return undefined
  let value: unknown = document
  for (const step of readSteps(reference)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as JsonObject)[step]
  }
  return value
}

/** The steps of a reference `#/...`, decoded. */
export function readSteps(reference: string): string[] {
  return reference.slice(2).split('/').map(decodeStep)
}

/** A name as a step of a reference. */
export function encodeStep(name: string): string {
  return name
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replace(/[^A-Za-z0-9._~$-]/g, (mark) => encodeURIComponent(mark))
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    // Nothing is called so.
    return step
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Follows `{"$ref": "#/..."}` from object to object, some steps at most, and tells where it came to. */
export function follow(document: JsonObject, value: unknown, at: string): { value: unknown; at: string } {
  let here = { value, at }
  for (let hops = 0; hops < 16; hops++) {
    if (!isObject(here.value) || typeof here.value['$ref'] !== 'string') return here
    here = { value: resolve(document, here.value['$ref']), at: here.value['$ref'] }
  }
  return { value: undefined, at: here.at }
}
