/** Bytes that may be held at once by all that share it. */
export type ByteBudget = {
  /** Whether so many more could be held now. */
  fits(bytes: number): boolean
  /** @returns false when there is no room for them: then none were taken */
  take(bytes: number): boolean
  give(bytes: number): void
}

export function createByteBudget(max: number): ByteBudget {
  let held = 0
  const fits = (bytes: number): boolean => held + bytes <= max
  return {
    fits,
    take(bytes) {
      if (!fits(bytes)) return false
      held += bytes
      return true
    },
    give(bytes) {
      held -= bytes
    },
  }
}
