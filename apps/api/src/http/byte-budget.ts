/** Bytes of bodies that may be held at once by all requests together. */
export type ByteBudget = {
  /** Whether a body of so many bytes would be taken now. */
  fits(bytes: number): boolean
  /** For one body. */
  open(): Holding
}

export type Holding = {
  /** @returns false when there is no room for so many more: then they were not taken */
  take(bytes: number): boolean
  /** Gives all of it back. */
  close(): void
}

/**
 * One body at a time may go past the bound, and does not count then: so the largest finds its way, however small the bound is, and keeps
 * no room from others.
 */
export function createByteBudget(max: number): ByteBudget {
  let held = 0
  let beyond: Holding | null = null
  return {
    fits: (bytes) => held + bytes <= max || beyond === null,
    open() {
      let mine = 0
      const holding: Holding = {
        take(bytes) {
          if (beyond === holding) return true
          if (held + bytes <= max) {
            held += bytes
            mine += bytes
            return true
          }
          if (beyond !== null) return false
          holding.close()
          beyond = holding
          return true
        },
        close() {
          if (beyond === holding) beyond = null
          held -= mine
          mine = 0
        },
      }
      return holding
    },
  }
}
