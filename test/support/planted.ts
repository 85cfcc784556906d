/** Something that must not be found anywhere, and the ways in which it might be written. */
export type Planted = { name: string; spellings: string[] }

/**
 * As it is, escaped as in JSON and URLs, in hex, and in base64 and base64url wherever it may stand in what was encoded.
 * @param value text, or bytes that have no text
 */
export function plant(name: string, value: string | Buffer): Planted {
  const bytes = Buffer.from(value as string)
  if (bytes.length < 12) throw new Error(`${name} is too short to be found for certain`)
  const texts = typeof value === 'string' ? [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)] : []
  const encoded = [0, 1, 2].flatMap((before) => {
    // What stands before and behind it changes the characters at both ends.
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const inner = whole.slice(before === 0 ? 0 : before + 1, -2)
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })
  return { name, spellings: [...new Set([...texts, bytes.toString('hex'), ...encoded])] }
}

/** Which of them stand in the text, in which spelling. */
export function findPlanted(planted: readonly Planted[], text: string): string[] {
  const lower = text.toLowerCase()
  return planted.flatMap(({ name, spellings }) =>
    spellings
      .filter((spelling) => text.includes(spelling) || (/^[0-9a-f]+$/.test(spelling) && lower.includes(spelling)))
      .map((spelling) => `${name} as ${spelling.slice(0, 16)}...`),
  )
}
