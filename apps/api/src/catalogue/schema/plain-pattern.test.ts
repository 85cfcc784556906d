import fc from 'fast-check'
import { RE2JS } from 're2js'
import { expect, test } from 'vitest'
import { isPlain } from './plain-pattern.ts'

test.each([
  '^[A-Z]{3}$',
  '^inv_[0-9a-z]+$',
  '^\\d{4}-\\d{2}$',
  '^v\\d+\\.\\d{2}$',
  '^https://',
  '^$',
  '^[a-z0-9-]*$',
  '^a{0,100}b$',
])('%s is plain', (pattern) => expect(isPlain(pattern)).toBe(true))

test.each([
  '[A-Z]{3}', // may begin anywhere: fixed lengths would be linear, but this is simpler to see
  '^a*a*$',
  '^(a+)+$',
  '^(a|b)$',
  '^a|b',
  '^.+$',
  '^\\s$',
  '^[^a]$',
  '^[\\s]$',
  '^\\p{L}$',
  '^é$',
  '^a+?b+$',
  '^a{1,2}{3}$',
  '^a$b$',
  '^[z-a]$',
  '^[a-Z]$',
])('%s is left to RE2', (pattern) => expect(isPlain(pattern) && safely(() => new RegExp(pattern, 'u'))).toBe(false))

test('a plain pattern means to V8 what it means to RE2', () => {
  const atom = fc.constantFrom('a', 'B', '0', '_', '-', '\\.', '\\d', '\\w', '[a-c]', '[A-Z0-9_-]', '[.+]', '/')
  const count = fc.constantFrom('', '', '{2}', '*', '+', '?', '{1,3}', '{2,}')
  const pattern = fc
    .tuple(fc.array(fc.tuple(atom, count), { maxLength: 4 }), fc.constantFrom('$', ''))
    .map(([parts, end]) => `^${parts.flat().join('')}${end}`)
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', 'B', '0', '9', '_', '-', '.', '+', '\n', 'é', '/'),
    maxLength: 8,
  })
  let seen = 0
  fc.assert(
    fc.property(pattern, text, (each, value) => {
      if (!isPlain(each)) return
      seen += 1
      expect(new RegExp(each, 'u').test(value)).toBe(RE2JS.compile(RE2JS.translateRegExp(each)).test(value))
    }),
    { numRuns: 2_000 },
  )
  expect(seen).toBeGreaterThan(200)
})

function safely(make: () => unknown): boolean {
  try {
    return Boolean(make())
  } catch {
    return false
  }
}
