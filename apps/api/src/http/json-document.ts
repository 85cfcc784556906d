import { isUtf8 } from 'node:buffer'
import { isStorableText, maxNesting } from '@posthorn/core'
import { ApiProblem, type FieldError } from './api-problem.ts'
import { jsonPointer } from './json-pointer.ts'
import type { ProblemCode } from './problem-catalogue.ts'

/**
 * Reads a control-plane body: UTF-8 without a byte-order mark, JSON, nested at most 500, no key twice in one object, and
 * no text that Postgres cannot hold.
 * @throws ApiProblem 400; 422 for text with U+0000 or a lone surrogate, and for a key `__proto__`
 */
export function parseJsonDocument(body: Buffer): { text: string; value: unknown } {
  if (!isUtf8(body)) throw refused('invalid_utf8', 'The body is not valid UTF-8.')
  const text = body.toString('utf8')
  if (text.startsWith('\ufeff')) throw refused('byte_order_mark', 'The body begins with a byte-order mark.')
  if (text === '') throw refused('invalid_json', 'The body is empty.')
  const value = parse(text)
  checkStructure(text)
  const errors: FieldError[] = []
  checkText(value, [], errors)
  const first = errors[0]
  if (first) throw new ApiProblem('invalid_request', `${first.path}: ${first.message}`, { errors: errors.slice(0, 50) })
  return { text, value }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused('invalid_json', 'The body is not JSON.', '', error)
  }
}

type Level = { keys: Set<string> | null; step: PropertyKey }

/** One pass over the tokens that matter. The text is JSON: `JSON.parse` took it. */
function checkStructure(text: string): void {
  const levels: Level[] = []
  const tokens = /"(?:[^"\\]|\\.)*"|[[\]{},]/g
  let atKey = false
  for (let token = tokens.exec(text)?.[0]; token !== undefined; token = tokens.exec(text)?.[0]) {
    const level = levels.at(-1)
    if (token === '{' || token === '[') {
      levels.push({ keys: token === '{' ? new Set() : null, step: 0 })
      if (levels.length > maxNesting)
        throw refused('nested_too_deeply', `The body is nested deeper than ${maxNesting}.`)
      atKey = token === '{'
    } else if (token === '}' || token === ']') {
      levels.pop()
      atKey = false
    } else if (token === ',') {
      atKey = level?.keys !== null
      if (!atKey && level) level.step = Number(level.step) + 1
    } else if (atKey && level?.keys) {
      level.step = JSON.parse(token) as string
      if (level.keys.has(level.step)) {
        throw refused('repeated_key', 'A key is repeated.', jsonPointer(levels.map(({ step }) => step)))
      }
      level.keys.add(level.step)
      atKey = false
    }
  }
}

function checkText(value: unknown, steps: PropertyKey[], errors: FieldError[]): void {
  if (typeof value === 'string') {
    if (!isStorableText(value)) errors.push({ path: jsonPointer(steps), message: 'Holds U+0000 or a lone surrogate.' })
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      steps.push(key)
      if (!isStorableText(key))
        errors.push({ path: jsonPointer(steps), message: 'The key holds U+0000 or a lone surrogate.' })
      // Validation would drop it without a word.
      if (key === '__proto__') errors.push({ path: jsonPointer(steps), message: 'Unknown field.' })
      checkText(member, steps, errors)
      steps.pop()
    }
  }
}

function refused(code: ProblemCode, detail: string, path = '', cause?: unknown): ApiProblem {
  return new ApiProblem(code, detail, { errors: [{ path, message: detail }], cause })
}
