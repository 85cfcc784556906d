import type { FieldError } from '../http/api-problem.ts'
import type { SchemaCompiler } from './schema/compile.ts'
import type { JsonObject } from './schema/outline.ts'

/** What the catalogue says of a type. */
export type TypeValues = {
  description: string
  schema: JsonObject | null
  /** Payloads. */
  examples: unknown[]
  archived: boolean
}

export const maxDescriptionLength = 4_000
export const maxExamples = 20
const maxExampleBytes = 64 * 1024

/** What is wrong with them: a schema that is none, examples that it does not match. By pointers like `/schema/properties/a`. */
export function checkTypeValues({ schema, examples }: TypeValues, compiler: SchemaCompiler): FieldError[] {
  const compiled = schema === null ? null : compiler.compile(schema)
  if (Array.isArray(compiled)) return compiled.map(({ path, message }) => ({ path: `/schema${path}`, message }))
  const errors: FieldError[] = []
  let bytes = 0
  for (const [place, example] of examples.entries()) {
    const size = Buffer.byteLength(JSON.stringify(example))
    bytes += size
    if (bytes > maxExampleBytes) return [{ path: '/examples', message: `Have more than ${maxExampleBytes} bytes.` }]
    if (compiled) errors.push(...compiled.check(example, size, `/examples/${place}`))
  }
  return errors.slice(0, 50)
}
