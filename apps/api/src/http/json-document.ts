import { isUtf8 } from 'node:buffer'
import { isStorableText } from '@posthorn/core'
import { ApiProblem, type FieldError } from './api-problem.ts'
import { jsonPointer } from './json-pointer.ts'
import { checkStructure } from './json-structure.ts'
import type { ProblemCode } from './problem-catalogue.ts'

const maxErrors = 50

/**
 * Reads a control-plane body: UTF-8 without a byte-order mark, JSON, nested at most 500, no key twice in one object, and
 * no text that Postgres cannot hold.
 * @returns the text, checked
 * @throws ApiProblem 400; 422 for text with U+0000 or a lone surrogate, and for a key `__proto__`
 */
export function readJsonDocument(body: Buffer): string {
  if (!isUtf8(body)) throw refused('invalid_utf8', 'The body is not valid UTF-8.')
  const text = body.toString('utf8')
  if (text.startsWith('\ufeff')) throw refused('byte_order_mark', 'The body begins with a byte-order mark.')
  if (text === '') throw refused('invalid_json', 'The body is empty.')
  const value = parse(text)
  checkStructure(text)
  // In UTF-8, only an escape can write U+0000 or a lone surrogate.
  if (text.includes('\\u') || text.includes('__proto__')) checkText(value)
  return text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused('invalid_json', 'The body is not JSON.', error)
  }
}

function checkText(value: unknown): void {
  const errors: FieldError[] = []
  visit(value, [], errors)
  const first = errors[0]
  if (first) throw new ApiProblem('invalid_request', `${first.path || 'The body'}: ${first.message}`, { errors })
}

function visit(value: unknown, steps: string[], errors: FieldError[]): void {
  if (errors.length >= maxErrors) return
  if (typeof value === 'string' && !isStorableText(value)) {
    errors.push({ path: jsonPointer(steps), message: 'Holds U+0000 or a lone surrogate.' })
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      steps.push(key)
      // Validation would drop `__proto__` without a word.
      if (key === '__proto__') errors.push({ path: jsonPointer(steps), message: 'Unknown field.' })
      else if (isStorableText(key)) visit(member, steps, errors)
      else errors.push({ path: jsonPointer(steps), message: 'The key holds U+0000 or a lone surrogate.' })
      steps.pop()
    }
  }
}

function refused(code: ProblemCode, message: string, cause?: unknown): ApiProblem {
  return new ApiProblem(code, message, { errors: [{ path: '', message }], cause })
}
