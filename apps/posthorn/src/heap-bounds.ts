import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Two halves of 16 MiB. */
const youngBytes = 32 * 1024 * 1024

/**
 * Keeps V8's heap near what is in use. Left alone, the space in which it makes objects grows to 128 MiB on a machine of some size, and the
 * one of those that have lived for a while to four times what was found alive there; a busy process fills whatever it has. What belongs to a
 * delivery or a request lives for milliseconds, and survives in a small space about as rarely.
 *
 * Whoever sets the young space's size with a flag of Node has both as V8 has them.
 */
export function boundHeap(): void {
  const flags = `${process.execArgv.join(' ')} ${process.env['NODE_OPTIONS'] ?? ''}`
  if (/semi[-_]space/.test(flags)) return
  // Collected again at twice of what was alive.
  setFlagsFromString('--heap-growing-percent=100')
  const observer = new PerformanceObserver(() => {
    const size = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
    if (size < youngBytes) return
    // Read by V8 whenever it is about to grow.
    setFlagsFromString('--semi-space-growth-factor=1')
    observer.disconnect()
  })
  observer.observe({ entryTypes: ['gc'] })
}
