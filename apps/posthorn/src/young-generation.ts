import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Two halves of 8 MiB. */
const enoughBytes = 16 * 1024 * 1024

/**
 * Lets the space in which V8 makes objects grow to 16 MiB and no further. Left alone it grows to 128 MiB on a machine of some size,
 * and a busy process fills whatever it has; requests live so short that they survive in a small one as rarely. Whoever sets its
 * size with a flag of Node has it as set.
 */
export function boundYoungGeneration(): void {
  const flags = `${process.execArgv.join(' ')} ${process.env['NODE_OPTIONS'] ?? ''}`
  if (/semi[-_]space/.test(flags)) return
  const observer = new PerformanceObserver(() => {
    const size = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
    if (size < enoughBytes) return
    // Read by V8 whenever it is about to grow.
    setFlagsFromString('--semi-space-growth-factor=1')
    observer.disconnect()
  })
  observer.observe({ entryTypes: ['gc'] })
}
