/** What of JSON Schema 2020-12 is taken, by what stands under each keyword. */

/** Holds one schema. `inPlace`: it is applied to the same value, and not to one further in. */
export const oneSchema: Readonly<Record<string, { inPlace: boolean }>> = {
  not: { inPlace: true },
  if: { inPlace: true },
  // biome-ignore lint/suspicious/noThenProperty: the keyword is called so
  then: { inPlace: true },
  else: { inPlace: true },
  items: { inPlace: false },
  contains: { inPlace: false },
  additionalProperties: { inPlace: false },
  propertyNames: { inPlace: false },
  unevaluatedItems: { inPlace: false },
  unevaluatedProperties: { inPlace: false },
}

/** Holds a list of schemas. */
export const schemaList: Readonly<Record<string, { inPlace: boolean }>> = {
  allOf: { inPlace: true },
  anyOf: { inPlace: true },
  oneOf: { inPlace: true },
  prefixItems: { inPlace: false },
}

/** Holds schemas by name. `null`: they stand ready for references, and are not applied. */
export const schemaMap: Readonly<Record<string, { inPlace: boolean | null }>> = {
  properties: { inPlace: false },
  patternProperties: { inPlace: false },
  dependentSchemas: { inPlace: true },
  $defs: { inPlace: null },
  definitions: { inPlace: null },
}

/** Says something about the value by itself. */
export const assertions: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'multipleOf',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'maxContains',
  'minContains',
  'maxProperties',
  'minProperties',
  'required',
  'dependentRequired',
])

/** Tells readers something, and decides nothing. What begins with `x-` does so too. The last four are OpenAPI's. */
export const annotations: ReadonlySet<string> = new Set([
  '$comment',
  'title',
  'description',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  'examples',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
  'discriminator',
  'example',
  'externalDocs',
  'xml',
])

/** What is not taken, and why. */
export const refusedKeywords: Readonly<Record<string, string>> = {
  $id: 'Leave it out: the schema is known by the name of its type.',
  $anchor: 'Refer to it by its place (#/$defs/...).',
  $dynamicRef: 'Is not taken: use $ref.',
  $dynamicAnchor: 'Is not taken: use $ref.',
  $recursiveRef: 'Is not taken: use $ref.',
  $recursiveAnchor: 'Is not taken: use $ref.',
  $vocabulary: 'Is not taken.',
  id: 'Is of an older draft: leave it out.',
  additionalItems: 'Is of an older draft: use prefixItems and items.',
  dependencies: 'Is of an older draft: use dependentRequired or dependentSchemas.',
  nullable: 'Is of OpenAPI 3.0: add "null" to the type.',
}

export const dialect = 'https://json-schema.org/draft/2020-12/schema'

/** What the schema of a type may be: checked before it is compiled. */
export const schemaLimits = {
  bytes: 64 * 1024,
  /** Levels of JSON. */
  depth: 64,
  /** Schemas inside it, itself included. */
  schemas: 1_000,
  /** Schemas in schemas, those that are referred to among them. */
  nesting: 150,
  patterns: 100,
  patternLength: 1_000,
  /** As the engine counts instructions. */
  patternSize: 1_000,
} as const
