const shape = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Decodes canonical standard base64 (RFC 4648 section 4), or returns null.
 *
 * `Buffer.from(text, 'base64')` skips what it does not know, takes the URL-safe alphabet too and drops stray bits, so
 * that a mistyped key silently becomes another key. Here the text must be the one spelling of its bytes: padded, no
 * white space, no unused bits set.
 */
export function decodeBase64(text: string): Buffer | null {
  if (text.length % 4 !== 0 || !shape.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}
