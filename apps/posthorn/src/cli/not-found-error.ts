/** What was named is not there. One line that says what is. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
}
