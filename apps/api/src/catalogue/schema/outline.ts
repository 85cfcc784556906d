import type { FieldError } from '../../http/api-problem.ts'
import { jsonPointer } from '../../http/json-pointer.ts'
import type { Budget } from './budget.ts'
import { isCheckedFormat } from './formats.ts'
import {
  annotations,
  assertions,
  dialect,
  oneSchema,
  refusedKeywords,
  schemaLimits,
  schemaList,
  schemaMap,
} from './keywords.ts'
import { compilePattern, type Pattern } from './patterns.ts'

export type JsonObject = { [key: string]: unknown }

/** A schema as it is compiled. */
export type Outline = {
  /** Without what decides nothing, and with the cost of each schema. */
  prepared: JsonObject
  patterns: ReadonlyMap<string, Pattern>
}

/** How much evaluating one schema costs, without the schemas inside it. */
export type Cost = { steps: number; perKey: number; perItem: number; perCharacter: number }

/** The keyword that carries it. */
export const costKeyword = 'x-posthorn-cost'
export const uniqueKeyword = 'x-posthorn-unique'
export const choiceKeyword = 'x-posthorn-choice'

type Step = string | number
type Place = { steps: Step[]; inPlace: Set<string>; inside: string[]; refersTo: string | null }

/** Thrown away with what it found when something is wrong. */
class Refusal extends Error {
  readonly error: FieldError
  constructor(steps: readonly Step[], message: string) {
    super(message)
    this.error = { path: jsonPointer(steps), message }
  }
}

/**
 * Looks through a schema that has the form of one (its meta-schema took it), and prepares it.
 * @returns what is wrong with it first, where something is
 */
export function outline(schema: JsonObject, budget: Budget): Outline | FieldError {
  const places = new Map<string, Place>()
  const references: { from: string; to: string; steps: Step[] }[] = []
  const patterns = new Map<string, Pattern>()

  function visit(value: unknown, steps: Step[]): unknown {
    const name = address(steps)
    const place: Place = { steps, inPlace: new Set(), inside: [], refersTo: null }
    places.set(name, place)
    if (places.size > schemaLimits.schemas)
      throw new Refusal(steps, `Has more than ${schemaLimits.schemas} schemas in it.`)
    if (typeof value === 'boolean') return value
    const source = value as JsonObject
    const prepared: JsonObject = {}
    const cost: Cost = { steps: 1, perKey: 0, perItem: 0, perCharacter: 0 }
    function inner(held: unknown, behind: Step[], inPlace: boolean | null): unknown {
      const at = [...steps, ...behind]
      if (inPlace === true) place.inPlace.add(address(at))
      if (inPlace !== null) {
        place.inside.push(address(at))
        cost.steps++
      }
      return visit(held, at)
    }
    for (const [keyword, held] of Object.entries(source)) {
      if (annotations.has(keyword) || keyword.startsWith('x-')) continue
      const at = [...steps, keyword]
      const one = own(oneSchema, keyword)
      const list = own(schemaList, keyword)
      const map = own(schemaMap, keyword)
      if (one) {
        prepared[keyword] = inner(held, [keyword], one.inPlace)
      } else if (list) {
        prepared[keyword] = (held as unknown[]).map((each, index) => inner(each, [keyword, index], list.inPlace))
      } else if (map) {
        const entries = Object.entries(held as JsonObject)
        if (keyword === 'patternProperties') for (const [source] of entries) notePattern(source, [...at, source])
        prepared[keyword] = Object.fromEntries(
          entries.map(([key, each]) => [key, inner(each, [keyword, key], map.inPlace)]),
        )
      } else if (keyword === '$ref') {
        const to = readReference(held as string, at)
        references.push({ from: name, to, steps: at })
        place.inPlace.add(to)
        place.refersTo = to
        prepared[keyword] = held
        cost.steps++
      } else if (keyword === '$schema') {
        if (steps.length > 0) throw new Refusal(at, 'May stand at the top alone.')
        if (String(held).replace(/#$/, '') !== dialect) throw new Refusal(at, `Must be ${dialect}, or be left out.`)
      } else if (keyword === 'format') {
        if (isCheckedFormat(held)) prepared[keyword] = held
      } else if (keyword === 'uniqueItems') {
        if (held === true) prepared[uniqueKeyword] = true
      } else if (assertions.has(keyword)) {
        if (keyword === 'pattern') notePattern(held as string, at)
        const size = values(held, at)
        // Its meta-schema takes it, and Ajv does not.
        if (keyword === 'enum' && (held as unknown[]).length === 0)
          throw new Refusal(at, 'Must have at least one value.')
        prepared[keyword === 'enum' ? choiceKeyword : keyword] = held
        cost.steps += keyword === 'enum' ? 1 : size
      } else {
        throw new Refusal(
          at,
          own(refusedKeywords, keyword) ?? 'Is no keyword of JSON Schema 2020-12. Your own begin with x-.',
        )
      }
    }
    if (Object.keys(prepared).length === 0) return prepared
    return { ...prepared, [costKeyword]: weigh(prepared, cost) }
  }

  function notePattern(source: string, at: Step[]): void {
    if (patterns.has(source)) return
    if (patterns.size === schemaLimits.patterns)
      throw new Refusal(at, `Has more than ${schemaLimits.patterns} patterns in it.`)
    try {
      patterns.set(source, compilePattern(source, budget))
    } catch (error) {
      throw new Refusal(at, (error as Error).message)
    }
  }

  try {
    const prepared = visit(schema, []) as JsonObject
    for (const { to, steps } of references) {
      if (!places.has(to)) throw new Refusal(steps, 'Refers to a place where there is no schema.')
    }
    const circle = findCircle(places)
    if (circle) throw new Refusal(circle.steps, 'Comes back to itself by references, without going into the value.')
    checkNesting(places)
    return { prepared, patterns }
  } catch (error) {
    if (error instanceof Refusal) return error.error
    throw error
  }
}

/** The keywords whose cost grows with the value. */
function weigh(prepared: JsonObject, cost: Cost): Cost {
  const { properties = {}, patternProperties = {} } = prepared
  const named = Object.keys(properties as JsonObject).length
  const byPattern = Object.keys(patternProperties as JsonObject).length
  if (['additionalProperties', 'unevaluatedProperties', 'patternProperties'].some((key) => key in prepared)) {
    cost.perKey += 1 + named / 4 + byPattern
  }
  if (['propertyNames', 'minProperties', 'maxProperties'].some((key) => key in prepared)) cost.perKey += 1
  if (['items', 'contains', 'unevaluatedItems', 'prefixItems'].some((key) => key in prepared)) cost.perItem = 1
  cost.perCharacter = ['minLength', 'maxLength'].filter((key) => key in prepared).length
  cost.steps = Math.ceil(cost.steps)
  return cost
}

/** How many values a keyword holds. @throws Refusal for a number that no JSON text can give back */
function values(held: unknown, at: Step[]): number {
  if (typeof held === 'number' && !Number.isFinite(held)) throw new Refusal(at, 'Is too large a number.')
  if (typeof held !== 'object' || held === null) return 1
  return Object.values(held).reduce<number>((sum, each) => sum + values(each, at), 1)
}

/** @returns the address of the place that is meant */
function readReference(reference: string, at: Step[]): string {
  if (reference === '#') return address([])
  if (!reference.startsWith('#/')) throw new Refusal(at, 'Must refer to a place in this schema: # or #/...')
  try {
    const steps = decodeURIComponent(reference.slice(2)).split('/')
    return address(steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')))
  } catch {
    throw new Refusal(at, 'Is no well-formed reference.')
  }
}

function address(steps: readonly Step[]): string {
  return JSON.stringify(steps.map(String))
}

/**
 * Compiling goes into each schema, and into each that is referred to at its first reference. How deep it may go is bounded here,
 * for the stack would end it sooner or later.
 * @throws Refusal
 */
function checkNesting(places: ReadonlyMap<string, Place>): void {
  const begun = new Set<string>([address([])])
  function enter(name: string, depth: number): void {
    const { steps, inside, refersTo } = places.get(name)!
    if (depth > schemaLimits.nesting)
      throw new Refusal(steps, `Is more than ${schemaLimits.nesting} schemas deep, with its references.`)
    for (const each of inside) enter(each, depth + 1)
    if (refersTo === null || begun.has(refersTo)) return
    begun.add(refersTo)
    enter(refersTo, depth + 1)
  }
  enter(address([]), 1)
}

/** A place from which schemas applied to the same value lead back to it: checking it would never end. */
function findCircle(places: ReadonlyMap<string, Place>): Place | null {
  const state = new Map<string, 'open' | 'done'>()
  for (const start of places.keys()) {
    const stack: { name: string; rest: Iterator<string> }[] = []
    const open = (name: string): void => {
      state.set(name, 'open')
      stack.push({ name, rest: places.get(name)!.inPlace.values() })
    }
    if (!state.has(start)) open(start)
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const { value, done } = top.rest.next()
      if (done) {
        state.set(top.name, 'done')
        stack.pop()
      } else if (state.get(value) === 'open') {
        return places.get(value)!
      } else if (!state.has(value)) {
        open(value)
      }
    }
  }
  return null
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
