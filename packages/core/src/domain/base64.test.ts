import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeBase64 } from './base64.ts'

test('canonical base64 of any bytes is read', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      expect(decodeBase64(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes))
    }),
  )
})

test.each(['QQ', 'QQ=', 'Q', 'QR==', 'QQ==\n', ' QQ==', 'Q-_=', 'QQ==QQ==', '====', 'QQ%='])(
  'what is another spelling or none is refused: %j',
  (text) => {
    expect(decodeBase64(text)).toBeNull()
  },
)
