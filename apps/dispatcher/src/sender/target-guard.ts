import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { TargetRules } from '@posthorn/core'

export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

const refusedCode = 'POSTHORN_TARGET_REFUSED'

/** Thrown to `net.connect` by the lookup, so that no packet is sent. */
class TargetRefusedError extends Error {
  readonly code = refusedCode
}

export const isTargetRefused = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === refusedCode

export type TargetGuard = {
  /** For a host that is an address, which Node connects to without a lookup: the error to fail with, or null. */
  checkLiteral(address: string, port: number): Error | null
  /** A `lookup` for `net.connect` that hands over only checked addresses, and refuses the host if one is not allowed. */
  lookupFor(port: number, onResolved: () => void): LookupFunction
}

/**
 * Checks the addresses that are really connected to. The check and the connect use one and the same answer, so a name that
 * changes between two lookups (DNS rebinding) gains nothing. Lookups of one name that are under way are shared: each takes
 * a thread of Node's small pool, and a name whose servers are dead must not take them all.
 */
export function createTargetGuard(deps: {
  rules: TargetRules
  lookup: Lookup
  onRefused: (address: string, reason: string) => void
}): TargetGuard {
  type Waiter = (error: Error | null, addresses: LookupAddress[]) => void
  const underWay = new Map<string, Waiter[]>()

  const resolve = (hostname: string, waiter: Waiter): void => {
    const waiters = underWay.get(hostname)
    if (waiters) {
      waiters.push(waiter)
      return
    }
    underWay.set(hostname, [waiter])
    const done: Waiter = (error, addresses) => {
      const waiters = underWay.get(hostname) ?? []
      underWay.delete(hostname)
      for (const waiter of waiters) waiter(error, addresses)
    }
    try {
      deps.lookup(hostname, { all: true }, done)
    } catch (error) {
      done(error as Error, [])
    }
  }

  const checkLiteral = (address: string, port: number): Error | null => {
    const reason = deps.rules.refusal(address, port)
    if (reason === null) return null
    deps.onRefused(address, reason)
    return new TargetRefusedError(`${address} is not a public address (${reason})`)
  }

  const lookupFor =
    (port: number, onResolved: () => void): LookupFunction =>
    (hostname, options, callback) => {
      resolve(hostname, (error, answers) => {
        if (error) return callback(error, [])
        for (const { address } of answers) {
          const reason = deps.rules.refusal(address, port)
          if (reason === null) continue
          deps.onRefused(address, reason)
          // The address itself stays in the operator's log: a tenant learns no internal address from a name.
          return callback(
            new TargetRefusedError(`${hostname} resolves to an address that is not public (${reason})`),
            [],
          )
        }
        const family = options.family === 4 || options.family === 6 ? options.family : 0
        const usable = family === 0 ? answers : answers.filter((answer) => answer.family === family)
        const first = usable[0]
        if (!first) return callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), [])
        onResolved()
        if (options.all) callback(null, usable)
        else callback(null, first.address, first.family)
      })
    }

  return { checkLiteral, lookupFor }
}
