import { expect, test } from 'vitest'
import {
  eventTypeMatches,
  isChannel,
  isEventType,
  isEventTypeFilter,
  isIdempotencyKey,
  isOrderingKey,
  isStorableText,
  isTenantId,
} from './names.ts'

test.each([
  [isTenantId, ['a', 'acme', 'A.b_c:d-9', '9', 'x'.repeat(128)]],
  [isEventType, ['a', 'invoice.paid', 'User-1.Created_2.x', '_', 'x'.repeat(128)]],
  [isEventTypeFilter, ['invoice', 'invoice.*', 'invoice.paid.*']],
  [isChannel, ['eu', 'eu.west-1']],
  [isOrderingKey, ['a', ' ', 'ключ', '😊'.repeat(128)]],
  [isIdempotencyKey, ['a', 'inv-1042 paid', '~'.repeat(255)]],
  [isStorableText, ['', '😊', '\u2028']],
])('%o takes what is well named', (accepts, texts) => {
  for (const text of texts) expect(accepts(text), text).toBe(true)
})

test.each([
  [isTenantId, ['', '.a', '-a', 'a b', 'a/b', 'a\n', 'é', 'a\0', 'x'.repeat(129), 'posthorn']],
  [isEventType, ['', '.', 'a.', '.a', 'a..b', 'a b', 'a;b', 'a.*', '*', 'a\n', 'user.created\0', 'é', 'x'.repeat(129)]],
  [isEventTypeFilter, ['', '*', '.*', 'a*', 'a.*.b', '*.a', 'a.**', `${'x'.repeat(127)}.*`]],
  [isChannel, ['', 'eu.*', 'a b']],
  [isOrderingKey, ['', 'a\0', '\ud800', 'x'.repeat(129), '😊'.repeat(129)]],
  [isIdempotencyKey, ['', 'a\0', 'é', 'a\n', '\t', '\x7f', '~'.repeat(256)]],
  [isStorableText, ['\0', 'a\udc00x', '\ud800']],
])('%o refuses what is not', (accepts, texts) => {
  for (const text of texts) expect(accepts(text), JSON.stringify(text)).toBe(false)
})

test('a filter with a star takes all below it, and not itself', () => {
  expect(eventTypeMatches('invoice.*', 'invoice.paid')).toBe(true)
  expect(eventTypeMatches('invoice.*', 'invoice.line.added')).toBe(true)
  expect(eventTypeMatches('invoice.*', 'invoice')).toBe(false)
  expect(eventTypeMatches('invoice.*', 'invoices.paid')).toBe(false)
  expect(eventTypeMatches('invoice.paid', 'invoice.paid')).toBe(true)
  expect(eventTypeMatches('invoice.paid', 'Invoice.Paid')).toBe(false)
  expect(eventTypeMatches('invoice', 'invoice.paid')).toBe(false)
})
