import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { TargetRules } from '@posthorn/core'
import { toDial } from './resolver.ts'

export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

const refusedCode = 'POSTHORN_TARGET_REFUSED'

/** In place of a connection, so that no packet is sent. */
class TargetRefusedError extends Error {
  readonly code = refusedCode
}

export const isTargetRefused = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === refusedCode

type Checked = (error: Error | null, addresses: readonly LookupAddress[]) => void

export type TargetGuard = {
  /** For a host that is an address, which Node connects to without a lookup: the error to fail with, or null. */
  checkLiteral(address: string, port: number): Error | null
  /** The addresses of a name that may be dialled on this port; one answer that may not be refuses the name. */
  addressesOf(hostname: string, port: number, done: Checked): void
  /** `addressesOf` as a `lookup` for `net.connect`, which then dials these very addresses. */
  lookupFor(port: number, onResolved: () => void): LookupFunction
}

/**
 * Checks the addresses that are really connected to. The check and the connect use one and the same answer, so a name that
 * changes between two lookups (DNS rebinding) gains nothing. Lookups of one name that are under way are shared.
 */
export function createTargetGuard(deps: {
  rules: Pick<TargetRules, 'refusal'>
  lookup: Lookup
  /** For the operator, who is told the address; the endpoint's owner is not. */
  onRefused: (refused: { host: string; address: string; reason: string }) => void
}): TargetGuard {
  const { rules, onRefused } = deps
  const underWay = new Map<string, Checked[]>()

  const resolve = (hostname: string, waiter: Checked): void => {
    const waiters = underWay.get(hostname)
    if (waiters) {
      waiters.push(waiter)
      return
    }
    underWay.set(hostname, [waiter])
    const done: Checked = (error, addresses) => {
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
    const reason = rules.refusal(address, port)
    if (reason === null) return null
    onRefused({ host: address, address, reason })
    return new TargetRefusedError(`${address} is not a public address (${reason})`)
  }

  const addressesOf = (hostname: string, port: number, done: Checked): void =>
    resolve(hostname, (error, answers) => {
      if (error) return done(error, [])
      for (const { address } of answers) {
        const reason = rules.refusal(address, port)
        if (reason === null) continue
        onRefused({ host: hostname, address, reason })
        // The address itself stays in the operator's log: a tenant learns no internal address from a name.
        return done(new TargetRefusedError(`${hostname} resolves to an address that is not public (${reason})`), [])
      }
      if (answers.length === 0) return done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), [])
      done(null, toDial(answers))
    })

  const lookupFor =
    (port: number, onResolved: () => void): LookupFunction =>
    (hostname, options, callback) =>
      addressesOf(hostname, port, (error, addresses) => {
        const first = addresses[0]
        if (error || !first) return callback(error, [])
        onResolved()
        if (options.all) callback(null, [...addresses])
        else callback(null, first.address, first.family)
      })

  return { checkLiteral, addressesOf, lookupFor }
}
