// The types of the language do not have them yet: what a number was read from, and a value that is written as it stands.
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown
const { parse, rawJSON } = JSON as unknown as {
  parse: (text: string, reviver: Reviver) => unknown
  rawJSON: (text: string) => unknown
}

/** A number by its digits, as they stood in the JSON text: a double would round those past 2^53. Written as the same text. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return rawJSON(this.text)
  }
}

/** As `JSON.parse`, with each number as an ExactNumber. */
export function parseExactly(text: string): unknown {
  return parse(text, (_key, value, { source }) => (typeof value === 'number' ? new ExactNumber(source!) : value))
}
