import { maxNesting } from '@posthorn/core'
import { ApiProblem } from './api-problem.ts'
import { jsonPointer } from './json-pointer.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Whether no object in a text has a key twice, at a fraction of what `checkStructure` costs: the members that were read are as
 * many as the text has.
 * @param value what `JSON.parse` read from it
 */
export function hasDistinctKeys(text: string, value: unknown): boolean {
  let colons = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === colon) colons++
  }
  return colons === countMembers(value)
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const each of value) if (typeof each === 'object') count += countMembers(each)
    return count
  }
  const members = value as Record<string, unknown>
  for (const key of Object.keys(members)) {
    count++
    const member = members[key]
    if (typeof member === 'object') count += countMembers(member)
  }
  return count
}

/** `keys` is null in an array. */
type Level = { keys: Set<string> | null; step: string | number }

/**
 * Refuses a key that one object has twice, and nesting past 500. One pass over the characters that matter.
 * @param text JSON: `JSON.parse` took it
 * @param prefix begins the pointers
 * @throws ApiProblem 400
 */
export function checkStructure(text: string, prefix = ''): void {
  const levels: Level[] = []
  let level: Level | undefined
  let atKey = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = endOfString(text, at)
      if (atKey && level) noteKey(prefix, levels, level, keyOf(text.slice(at, end + 1)))
      atKey = false
      at = end
    } else if (code === openBrace || code === openBracket) {
      if (levels.length === maxNesting) throw tooDeep()
      level = { keys: code === openBrace ? new Set() : null, step: 0 }
      levels.push(level)
      atKey = code === openBrace
    } else if (code === closeBrace || code === closeBracket) {
      levels.pop()
      level = levels.at(-1)
      atKey = false
    } else if (code === comma && level) {
      if (level.keys) atKey = true
      else level.step = Number(level.step) + 1
    }
  }
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  for (; text.charCodeAt(at) !== quote; at++) if (text.charCodeAt(at) === backslash) at++
  return at
}

function keyOf(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1)
}

function noteKey(prefix: string, levels: readonly Level[], level: Level, key: string): void {
  level.step = key
  if (level.keys?.has(key)) {
    const path = prefix + jsonPointer(levels.map(({ step }) => step))
    throw new ApiProblem('repeated_key', `${path} is there twice.`, { errors: [{ path, message: 'Is there twice.' }] })
  }
  level.keys?.add(key)
}

function tooDeep(): ApiProblem {
  const message = `The body is nested deeper than ${maxNesting}.`
  return new ApiProblem('nested_too_deeply', message, { errors: [{ path: '', message }] })
}
