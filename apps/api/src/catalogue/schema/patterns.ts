import { RE2JS } from 're2js'
import type { Budget } from './budget.ts'
import { schemaLimits } from './keywords.ts'
import { isPlain } from './plain-pattern.ts'

/** A pattern of a schema: matched in a time linear in the text, whatever the pattern. */
export type Pattern = {
  test(text: string): boolean
  /** The pattern: Ajv knows it by this. */
  toString(): string
}

/**
 * Compiles a pattern as RE2 does: without what needs backtracking (references to groups, looking around).
 * @throws Error with what is wrong, fit to be answered
 */
export function compilePattern(source: string, budget: Budget): Pattern {
  if (source.length > schemaLimits.patternLength) {
    throw new Error(`A pattern may have at most ${schemaLimits.patternLength} characters.`)
  }
  const compiled = compile(source)
  const size = compiled.programSize()
  if (size > schemaLimits.patternSize)
    throw new Error('The pattern is too large: its repetitions count as often as they may be.')
  const native = isPlain(source) ? new RegExp(source, 'u') : null
  return {
    toString: () => source,
    test(text) {
      if (native !== null) {
        budget.spend(8 + text.length)
        return native.test(text)
      }
      // At its worst the engine follows every instruction at every character.
      budget.spend(8 + Math.ceil((text.length * size) / 16))
      return compiled.test(text)
    },
  }
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source))
  } catch (error) {
    const what = (error as Error).message.replace(/^error parsing regexp: /, '')
    throw new Error(`Is no pattern that RE2 takes: ${what.slice(0, 200)}.`)
  }
}
