/** A JSON pointer (RFC 6901) from the steps of a path; `''` is the whole. */
export function jsonPointer(steps: readonly PropertyKey[]): string {
  return steps.map((step) => `/${escapeStep(String(step))}`).join('')
}

/** Bounded, and writable in UTF-8: the step may be a key that the caller made up. */
function escapeStep(step: string): string {
  const short = step.length > 100 ? `${step.slice(0, 100)}…` : step
  return short.toWellFormed().replaceAll('\0', '\u2400').replaceAll('~', '~0').replaceAll('/', '~1')
}
