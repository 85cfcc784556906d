/*
 * hrtime and performance.now() read one clock, the system's monotonic one, which all processes of a machine share; only
 * their zeros differ. performance.now() is the cheaper call.
 */
const [seconds, nanoseconds] = process.hrtime()
const offsetMs = seconds * 1_000 + nanoseconds / 1e6 - performance.now()

/** Milliseconds on a clock that all processes of this machine share and nobody sets. */
export function sharedNow(): number {
  return performance.now() + offsetMs
}
