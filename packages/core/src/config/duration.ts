const units = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/**
 * Reads a duration as settings write it: a whole number and its unit, `90s`, `30m`, `2h` or `5d`.
 * @returns seconds; null for any other text
 */
export function parseDuration(text: string): number | null {
  const match = /^([0-9]{1,9})([smhd])$/.exec(text)
  if (match === null) return null
  return Number(match[1]) * units[match[2] as keyof typeof units]
}
