/** What was typed cannot be meant. One line that says what to type. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
