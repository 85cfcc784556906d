import { setTimeout as sleep } from 'node:timers/promises'

/** The promise's value, or an error that says what was waited for. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${timeoutMs / 1_000} s`)), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Asks until the answer is true. */
export async function until(
  ask: () => Promise<boolean>,
  { everyMs, timeoutMs, what }: { everyMs: number; timeoutMs: number; what: string | (() => string) },
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await ask())) {
    if (performance.now() > deadline) {
      throw new Error(`${typeof what === 'string' ? what : what()}: not within ${timeoutMs / 1_000} s`)
    }
    await sleep(everyMs)
  }
}
