import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits for a condition in another process that gives no signal: calls `check` every 20 ms until it neither throws nor
 * returns false, null or undefined, and returns what it returned.
 * @throws after `timeoutMs`, with the last failure as the cause.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  timeoutMs: number,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = Date.now() + timeoutMs
  while (true) {
    let last: unknown
    try {
      const value = await check()
      if (value !== false && value !== null && value !== undefined) {
        return value as Exclude<T, false | null | undefined>
      }
      last = value
    } catch (error) {
      last = error
    }
    if (Date.now() >= deadline) {
      const why = last instanceof Error ? last.message : `it returned ${String(last)}`
      throw new Error(`not so within ${timeoutMs} ms: ${why}`, { cause: last })
    }
    await sleep(20)
  }
}

/** The promise's value, or an error naming what was waited for after `timeoutMs`. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what()} (waited ${timeoutMs} ms)`)), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
