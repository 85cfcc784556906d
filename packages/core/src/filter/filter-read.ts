import { isStorableText } from '../domain/names.ts'
import { ExactNumber, parseExactly } from '../json/exact-json.ts'
import { type Comparison, comparisons, costOf, type Filter, type FilterTest, filterLimits } from './filter.ts'

/** What is wrong with a filter, and where in it. */
export type FilterFault = { at: readonly (string | number)[]; message: string }

/** A filter, and its JSON text as it is kept and shown: without white space, numbers with all their digits. */
export type ReadFilter = { filter: Filter; text: string }

type At = readonly (string | number)[]
type Members = Readonly<Record<string, unknown>>

const maxFaults = 50
const operatorNames = ['equals', 'in', 'exists', 'prefix', ...comparisons] as const
const pathRule = 'Must be a JSON pointer into the payload: "/data/total"; ~1 stands for / and ~0 for ~ in a key.'

/** Reads a filter from JSON text, which `JSON.parse` takes. @returns what is wrong with it, at least one fault, where it is none */
export function readFilter(json: string): ReadFilter | { faults: FilterFault[] } {
  const given = parseExactly(json)
  const text = JSON.stringify(given)
  const faults: FilterFault[] = []
  const fault = (at: At, message: string): null => {
    if (faults.length < maxFaults) faults.push({ at, message })
    return null
  }
  if (Buffer.byteLength(text) > filterLimits.bytes) {
    return { faults: [{ at: [], message: `Must have at most ${filterLimits.bytes} bytes.` }] }
  }
  const filter = read(given, [], 0)
  if (filter !== null) {
    const cost = costOf(filter)
    if (cost > filterLimits.cost)
      fault([], `Is too costly: ${cost} looks into the payload, at most ${filterLimits.cost}.`)
  }
  return filter === null || faults.length > 0 ? { faults } : { filter, text }

  function read(value: unknown, at: At, depth: number): Filter | null {
    if (!isObject(value)) return fault(at, 'Must be an object.')
    for (const kind of ['and', 'or', 'not'] as const) {
      if (!Object.hasOwn(value, kind)) continue
      for (const other of Object.keys(value)) {
        if (other !== kind) return fault([...at, other], `Must not stand beside \`${kind}\`.`)
      }
      if (depth === filterLimits.depth) return fault(at, `Is nested deeper than ${filterLimits.depth}.`)
      return kind === 'not'
        ? readNot(value[kind], [...at, kind], depth)
        : readAll(kind, value[kind], [...at, kind], depth)
    }
    return readCondition(value, at)
  }

  function readNot(value: unknown, at: At, depth: number): Filter | null {
    const of = read(value, at, depth + 1)
    return of && { kind: 'not', of }
  }

  function readAll(kind: 'and' | 'or', value: unknown, at: At, depth: number): Filter | null {
    if (!Array.isArray(value)) return fault(at, 'Must be an array of filters.')
    if (value.length === 0) return fault(at, 'Must not be empty.')
    if (value.length > filterLimits.cost) return fault(at, `Must have at most ${filterLimits.cost} elements.`)
    const of = value.flatMap((each, place) => read(each, [...at, place], depth + 1) ?? [])
    return of.length === value.length ? { kind, of } : null
  }

  function readCondition(value: Members, at: At): Filter | null {
    const tests: FilterTest[] = []
    let asked = false
    for (const name of Object.keys(value)) {
      if (name === 'path') continue
      const op = operatorNames.find((each) => each === name)
      asked ||= op !== undefined
      const test = op === undefined ? fault([...at, name], 'Unknown field.') : readTest(op, value[name], [...at, name])
      if (test !== null) tests.push(test)
    }
    if (!asked) {
      return fault(at, `Must have \`and\`, \`or\`, \`not\`, or a \`path\` with one of ${operatorNames.join(', ')}.`)
    }
    const path = readPath(value['path'], [...at, 'path'])
    return path && { kind: 'condition', path, tests }
  }

  function readPath(value: unknown, at: At): string[] | null {
    if (value === undefined) return fault(at, 'Required.')
    if (typeof value !== 'string' || !/^(?:\/(?:[^~]|~[01])*)?$/s.test(value) || !isStorableText(value)) {
      return fault(at, pathRule)
    }
    if (value.length > filterLimits.pathLength) {
      return fault(at, `Must have at most ${filterLimits.pathLength} characters.`)
    }
    const steps = value.split('/').slice(1)
    if (steps.length > filterLimits.pathSteps) return fault(at, `Must have at most ${filterLimits.pathSteps} steps.`)
    return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  }

  function readTest(op: (typeof operatorNames)[number], value: unknown, at: At): FilterTest | null {
    switch (op) {
      case 'exists':
        return typeof value === 'boolean' ? { op, at, value } : fault(at, 'Must be true or false.')
      case 'in':
        return readIn(value, at)
      case 'prefix': {
        if (value === '') return fault(at, 'Must not be empty.')
        return typeof value === 'string' ? readValue(op, value, at) : fault(at, 'Must be a string.')
      }
      case 'equals':
        return readValue(op, value, at)
      default:
        if (typeof value === 'string' || value instanceof ExactNumber) return readValue(op, value, at)
        return fault(at, 'Must be a number or a string.')
    }
  }

  function readValue(op: 'equals' | 'prefix' | Comparison, value: unknown, at: At): FilterTest | null {
    const literal = readLiteral(value, at)
    return literal === null ? null : { op, at, value: literal }
  }

  function readIn(value: unknown, at: At): FilterTest | null {
    if (!Array.isArray(value)) return fault(at, 'Must be an array of values.')
    if (value.length === 0) return fault(at, 'Must not be empty.')
    if (value.length > filterLimits.values) return fault(at, `Must have at most ${filterLimits.values} elements.`)
    const values = value.flatMap((each, place) => readLiteral(each, [...at, place]) ?? [])
    return values.length === value.length ? { op: 'in', at, values } : null
  }

  function readLiteral(value: unknown, at: At): string | null {
    if (value === null || typeof value === 'boolean') return String(value)
    if (value instanceof ExactNumber) return readNumber(value.text, at)
    if (typeof value !== 'string') return fault(at, 'Must be a string, a number, true, false or null.')
    if (value.length > filterLimits.textLength) {
      return fault(at, `Must have at most ${filterLimits.textLength} characters.`)
    }
    return isStorableText(value) ? JSON.stringify(value) : fault(at, 'Holds U+0000 or a lone surrogate.')
  }

  function readNumber(digits: string, at: At): string | null {
    const { numberLength, exponent } = filterLimits
    const within = Math.abs(Number(digits.split(/e/i)[1] ?? 0)) <= exponent
    if (digits.length <= numberLength && within) return digits
    return fault(at, `Must have at most ${numberLength} digits, and an exponent of at most ${exponent}.`)
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
}
