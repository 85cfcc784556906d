import type { JsonObject } from '../schema/outline.ts'
import { encodeStep, isObject, mapReferences, readSteps, resolve } from './references.ts'

/** Where a schema of a document goes in the one that is made of it. */
type Home = { steps: string[]; address: string }

/** Places that may be taken in; the schema of a type may have fewer by far. */
const maxTaken = 500
const maxCharacters = 256 * 1024

/** Why a schema cannot be taken out of its document. */
export class BundleError extends Error {
  override name = 'BundleError'
}

/**
 * Takes a schema out of a document with all that it refers to: what stands inside it is referred to there, and what stands elsewhere
 * in the document comes into `$defs`.
 * @param at where it stands: `#/components/schemas/invoice.paid`
 * @throws BundleError
 */
export function bundle(document: JsonObject, at: string): JsonObject {
  const root = resolve(document, at)
  if (!isObject(root)) throw new BundleError('There is no schema.')
  const homes: Home[] = [{ steps: readSteps(at), address: '#' }]
  const taken: JsonObject = {}
  const names = new Set(isObject(root['$defs']) ? Object.keys(root['$defs']) : [])
  let characters = 0

  function homeOf(reference: string): string {
    if (!reference.startsWith('#/'))
      throw new BundleError(`Refers to ${shorten(reference)}, which is not in the document.`)
    const steps = readSteps(reference)
    // The innermost: one that was taken in by itself may stand inside of another.
    const known = homes
      .filter((home) => home.steps.length <= steps.length && home.steps.every((step, index) => step === steps[index]))
      .sort((a, b) => b.steps.length - a.steps.length)[0]
    const inside = known && reference.slice(2).split('/').slice(known.steps.length)
    if (known) return inside!.length === 0 ? known.address : `${known.address}/${inside!.join('/')}`
    return take(reference, steps)
  }

  function take(reference: string, steps: string[]): string {
    const schema = resolve(document, reference)
    if (!isObject(schema) && typeof schema !== 'boolean') {
      throw new BundleError(`Refers to ${shorten(reference)}, and there is no schema.`)
    }
    characters += JSON.stringify(schema).length
    if (homes.length > maxTaken || characters > maxCharacters) throw new BundleError('Refers to too much.')
    const name = freeName(steps.at(-1)!)
    const address = `#/$defs/${encodeStep(name)}`
    homes.push({ steps, address })
    // Its place first, for it may refer to itself.
    taken[name] = null
    taken[name] = mapReferences(schema, homeOf)
    return address
  }

  function freeName(wanted: string): string {
    let name = wanted
    for (let n = 2; names.has(name); n++) name = `${wanted}_${n}`
    names.add(name)
    return name
  }

  const schema = mapReferences(root, homeOf) as JsonObject
  if (Object.keys(taken).length === 0) return schema
  return { ...schema, $defs: { ...(schema['$defs'] as JsonObject | undefined), ...taken } }
}

function shorten(reference: string): string {
  return reference.length > 100 ? `${reference.slice(0, 100).toWellFormed()}…` : reference
}
