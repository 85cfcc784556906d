import type { IncomingHttpHeaders } from 'node:http'

/** Response body read from the socket, at most; what comes after is cut off with the connection. */
export const maxReadBytes = 64 * 1024
/** Of it kept. */
export const maxKeptBytes = 16 * 1024
/** Received on the wire until the headers are whole; looked at after each read of 64 KiB, and so passed by one at most. */
export const maxHeadBytes = 64 * 1024
/** Received on the wire in all, whatever it is. */
export const maxWireBytes = 256 * 1024
const maxHeaderPairs = 64
const maxHeaderBytes = 8 * 1024

/** The response's headers as pairs, in order, bounded in number and size, without NUL (which Postgres cannot store). */
export function boundHeaders(headers: IncomingHttpHeaders): [string, string][] {
  const pairs: [string, string][] = []
  let size = 0
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    for (const text of typeof value === 'string' ? [value] : (value ?? [])) {
      size += name.length + text.length
      if (pairs.length === maxHeaderPairs || size > maxHeaderBytes) return pairs
      pairs.push([withoutNul(name), withoutNul(text)])
    }
  }
  return pairs
}

const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '') : text)
