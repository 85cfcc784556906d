/** What a signal ends. */
type Abortable = { onAbort(): void }

export type SignalWatch = {
  add(signal: AbortSignal, attempt: Abortable): void
  remove(signal: AbortSignal, attempt: Abortable): void
}

/**
 * Ends attempts when their signal aborts. One listener a signal, however many attempts share it: removing a listener walks
 * through all of its kind, and hundreds of attempts come and go on the dispatcher's one signal.
 */
export function createSignalWatch(): SignalWatch {
  const watched = new WeakMap<AbortSignal, Set<Abortable>>()

  const add = (signal: AbortSignal, attempt: Abortable): void => {
    let attempts = watched.get(signal)
    if (!attempts) {
      const started = new Set<Abortable>()
      attempts = started
      watched.set(signal, started)
      const onAbort = (): void => {
        for (const attempt of started) attempt.onAbort()
      }
      signal.addEventListener('abort', onAbort, { once: true })
    }
    attempts.add(attempt)
  }

  return { add, remove: (signal, attempt) => void watched.get(signal)?.delete(attempt) }
}
