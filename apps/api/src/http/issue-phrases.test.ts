import { expect, test } from 'vitest'
import { z } from 'zod'
import { phraseIssue } from './issue-phrases.ts'

const schema = z.strictObject({
  name: z.string().min(1).max(3).optional(),
  count: z.int().min(1).max(9).optional(),
  ratio: z.number().optional(),
  on: z.boolean().optional(),
  list: z.array(z.string()).min(1).max(2).optional(),
  notes: z.record(z.string().min(1), z.string()).optional(),
  kind: z.enum(['a', 'b']).optional(),
  none: z.null().optional(),
  code: z.string().regex(/^x$/).optional(),
  own: z
    .string()
    .refine(() => false, { error: 'Says so itself' })
    .optional(),
  needed: z.string(),
})

test.each<[object, string]>([
  [{}, 'Required.'],
  [{ needed: 1 }, 'Must be a string.'],
  [{ name: '' }, 'Must have at least 1 character.'],
  [{ name: 'abcd' }, 'Must have at most 3 characters.'],
  [{ count: 'a' }, 'Must be a number.'],
  [{ count: 1.5 }, 'Must be a whole number.'],
  [{ count: 0 }, 'Must be at least 1.'],
  [{ count: 10 }, 'Must be at most 9.'],
  [{ ratio: null }, 'Must be a number.'],
  [{ on: 1 }, 'Must be true or false.'],
  [{ list: {} }, 'Must be an array.'],
  [{ list: [] }, 'Must have at least 1 element.'],
  [{ list: ['a', 'b', 'c'] }, 'Must have at most 2 elements.'],
  [{ notes: [] }, 'Must be an object.'],
  [{ notes: { '': 'a' } }, 'Has a key that may not be there.'],
  [{ kind: 'c' }, 'Must be "a" or "b".'],
  [{ none: 1 }, 'Must be null.'],
  [{ code: 'y' }, 'Is not well-formed.'],
  [{ own: 'y' }, 'Says so itself.'],
])('%j: %s', (given, phrase) => {
  const { error } = schema.safeParse(given)
  expect(error?.issues.map(phraseIssue)).toContain(phrase)
})
