import { _, Ajv2020, type ErrorObject, type KeywordCxt, type ValidateFunction } from 'ajv/dist/2020.js'
import type { FieldError } from '../../http/api-problem.ts'
import { BudgetSpent, createBudget, stepsFor } from './budget.ts'
import { toFieldErrors } from './errors.ts'
import { createFormats } from './formats.ts'
import { schemaLimits } from './keywords.ts'
import {
  type Cost,
  choiceKeyword,
  costKeyword,
  type JsonObject,
  type Outline,
  outline,
  uniqueKeyword,
} from './outline.ts'
import { areUnique, createChoice } from './same-values.ts'

/** A schema that has been compiled. */
export type CompiledSchema = {
  /**
   * What is wrong with a value; nothing when it matches.
   * @param bytes the size of its text: what the check may take grows with it
   * @param prefix begins the pointers
   */
  check(value: unknown, bytes: number, prefix: string): FieldError[]
}

export type SchemaCompiler = {
  /**
   * Compiles a schema of JSON Schema 2020-12.
   * @returns what is wrong with it, by pointers into it, where something is
   */
  compile(schema: JsonObject): CompiledSchema | FieldError[]
}

/** Listing all that is wrong may take so many steps; past it the first is told alone. */
const stepsForAll = 20_000

/**
 * Compiles schemas, and bounds what they can cost: a schema is limited in size; patterns are matched in linear time; references
 * stay inside it; and a check counts its steps, and ends where they are more than its payload's size allows.
 */
export function createSchemaCompiler(): SchemaCompiler {
  const budget = createBudget()
  const formats = createFormats(budget)
  let meta: Ajv2020 | undefined

  /** An instance for each schema: one that is shared keeps what every schema had. */
  function build({ prepared, patterns }: Outline, allErrors: boolean): ValidateFunction {
    const ajv = new Ajv2020({
      allErrors,
      strict: false,
      strictNumbers: true,
      meta: false,
      validateSchema: false,
      addUsedSchema: false,
      inlineRefs: false,
      messages: false,
      ownProperties: true,
      multipleOfPrecision: 7,
      logger: false,
      formats,
      code: { optimize: false, regExp: Object.assign((source: string) => patterns.get(source)!, { code: '' }) },
    })
    ajv.addKeyword({ keyword: costKeyword, schemaType: 'object', code: (cxt) => charge(cxt) })
    ajv.addKeyword({
      keyword: uniqueKeyword,
      type: 'array',
      code: (cxt) => demand(cxt, (items: unknown[]) => areUnique(items, budget)),
    })
    ajv.addKeyword({
      keyword: choiceKeyword,
      code: (cxt) => demand(cxt, createChoice(cxt.schema as unknown[], budget)),
      error: { message: '', params: ({ schemaCode }) => _`{ allowedValues: ${schemaCode} }` },
    })
    return ajv.compile({ ...prepared, $id: 'urn:posthorn:schema' })
  }

  /** Inline, for it stands in every schema. */
  function charge({ gen, schema, data }: KeywordCxt): void {
    const { steps, perKey, perItem, perCharacter } = schema as Cost
    const shared = gen.scopeValue('obj', { ref: budget })
    gen.if(_`(${shared}.left -= ${steps}) < 0`, () => gen.code(_`${shared}.spend(0)`))
    if (perCharacter > 0)
      gen.if(_`typeof ${data} == "string"`, () => gen.code(_`${shared}.spend(${data}.length * ${perCharacter})`))
    if (perItem > 0) gen.if(_`Array.isArray(${data})`, () => gen.code(_`${shared}.spend(${data}.length)`))
    if (perKey > 0) {
      const isObject = _`typeof ${data} == "object" && ${data} && !Array.isArray(${data})`
      gen.if(isObject, () => gen.code(_`${shared}.spend(Object.keys(${data}).length * ${perKey})`))
    }
  }

  /** Called with the value alone: as a keyword's `validate` Ajv would make an object and a pointer for each call. */
  function demand<T>(cxt: KeywordCxt, holds: (value: T) => boolean): void {
    const called = cxt.gen.scopeValue('func', { ref: holds })
    cxt.fail(_`!${called}(${cxt.data})`)
  }

  function formErrors(schema: JsonObject): FieldError[] {
    meta ??= new Ajv2020({ strict: false, validateFormats: false, messages: false, logger: false })
    // Its own `$schema` is looked at by the outline.
    if (meta.validateSchema({ ...schema, $schema: undefined } as never) === true) return []
    return toFieldErrors((meta.errors ?? []).slice(0, 1), '')
  }

  return {
    compile(schema) {
      const text = JSON.stringify(schema)
      if (Buffer.byteLength(text) > schemaLimits.bytes)
        return [{ path: '', message: `Has more than ${schemaLimits.bytes} bytes.` }]
      if (isDeeper(schema, schemaLimits.depth))
        return [{ path: '', message: `Is nested deeper than ${schemaLimits.depth}.` }]
      const malformed = formErrors(schema)
      if (malformed.length > 0) return malformed
      const looked = outline(schema, budget)
      if (!('prepared' in looked)) return [looked]
      const outlined: Outline = looked
      const firstOnly = build(outlined, false)
      let listing: ValidateFunction | undefined

      function run(validate: ValidateFunction, value: unknown, steps: number): ErrorObject[] {
        budget.left = steps
        return validate(value) ? [] : (validate.errors ?? [])
      }
      function listAll(value: unknown): ErrorObject[] | null {
        try {
          listing ??= build(outlined, true)
          return run(listing, value, stepsForAll)
        } catch (error) {
          if (error instanceof BudgetSpent || error instanceof RangeError) return null
          throw error
        }
      }
      return {
        check(value, bytes, prefix) {
          try {
            const found = run(firstOnly, value, stepsFor(bytes))
            return found.length === 0 ? [] : toFieldErrors(listAll(value) ?? found, prefix)
          } catch (error) {
            // The stack ends first where each of many levels goes through many schemas.
            if (!(error instanceof BudgetSpent || error instanceof RangeError)) throw error
            return [{ path: prefix, message: 'Takes more steps to check against its schema than its size allows.' }]
          }
        },
      }
    },
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1))
}
