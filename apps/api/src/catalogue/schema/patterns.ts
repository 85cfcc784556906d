import { RE2JS } from 're2js'
import type { Budget } from './budget.ts'
import { schemaLimits } from './keywords.ts'
import { isPlain } from './plain-pattern.ts'

/*
 * Steps for each instruction at each character. At its worst the engine follows all of them at all characters, 10 ns each; of a
 * large pattern it also makes new states at each character, and takes 110 ns. Mostly it is twenty times as fast.
 */
const smallPattern = 64
const stepsSmall = 0.25
const stepsLarge = 2

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
  // Most patterns of schemas: V8 takes a tenth of the time.
  const native = isPlain(source) ? new RegExp(source, 'u') : null
  if (native === null && size > schemaLimits.patternSize) {
    throw new Error('The pattern is too large: its repetitions count as often as they may be.')
  }
  const stepsForACharacter = native === null ? size * (size <= smallPattern ? stepsSmall : stepsLarge) : 1
  const engine: { test(text: string): boolean } = native ?? compiled
  return {
    toString: () => source,
    test(text) {
      budget.spend(8 + Math.ceil(text.length * stepsForACharacter))
      return engine.test(text)
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
