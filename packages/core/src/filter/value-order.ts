/*
 * The order of values as Postgres has it in a jsonpath: numbers by what they are, to the last digit, and texts by their code
 * points. Values are JSON text.
 */

/** Negative when `a` comes first, 0 when both are the same number. @param a a JSON number, its exponent within bounds */
export function compareNumbers(a: string, b: string): number {
  const [x, y] = [decimalOf(a), decimalOf(b)]
  const places = Math.max(x.places, y.places)
  const difference = scaled(x, places) - scaled(y, places)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** @param a a JSON string without lone surrogates */
export function compareStrings(a: string, b: string): number {
  // The bytes of UTF-8 order as code points do; UTF-16, in which JavaScript compares, does not.
  return Buffer.compare(Buffer.from(JSON.parse(a) as string), Buffer.from(JSON.parse(b) as string))
}

/** digits / 10^places */
type Decimal = { digits: bigint; places: number }

function decimalOf(text: string): Decimal {
  const [mantissa = '', exponent = '0'] = text.split(/e/i)
  const [whole = '', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), places: fraction.length - Number(exponent) }
}

function scaled({ digits, places }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - places)
}
