/** What connections may cost the API, whatever is sent over them. */
export type ServerLimits = {
  /** Bytes of a request's line and headers together. */
  maxHeaderBytes: number
  /** Characters of a request's path and query. */
  maxUrlLength: number
  /** Within so many milliseconds a request's headers are there, from the connection's or the last request's end on. */
  headersTimeoutMs: number
  /** And all of it, the body too. */
  requestTimeoutMs: number
  /** A connection without a request is kept so long. */
  keepAliveMs: number
  /** One on which nothing moves, in either direction, is cut: whoever does not read its answer. */
  silenceMs: number
  /** Bytes of bodies that are held at once, of all connections together, and one body besides: past it requests are refused. */
  maxBodyBytesAtOnce: number
  /** How often the time limits of headers and requests are looked at. */
  checkEveryMs: number
}

export const defaultLimits: ServerLimits = {
  maxHeaderBytes: 16 * 1024,
  maxUrlLength: 8 * 1024,
  headersTimeoutMs: 20_000,
  requestTimeoutMs: 60_000,
  keepAliveMs: 30_000,
  // Longer than the test of an endpoint waits for its first attempt.
  silenceMs: 90_000,
  // As many as keep the database busy. On its way there each byte is in memory four times, and more lie about until they are collected.
  maxBodyBytesAtOnce: 8 * 1024 * 1024,
  checkEveryMs: 2_000,
}

/** For `http.createServer`. */
export function toServerOptions(limits: ServerLimits) {
  return {
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    // A missing host is refused by us, as a problem.
    requireHostHeader: false,
  }
}
