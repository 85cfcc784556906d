import http from 'node:http'
import type { Socket } from 'node:net'
import type { AttemptErrorCode, EgressProxy } from '@posthorn/core'
import type { Lookup } from './target-guard.ts'

/** What went wrong at the proxy, or behind it: see the codes. The proxy's own address is not in the message. */
export class EgressProxyError extends Error {
  readonly reason: Extract<AttemptErrorCode, `proxy_${string}`>
  constructor(reason: EgressProxyError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

export type Tunnel = { destroy(): void }

/** Opens a tunnel to an address. `done` is called once, with a socket on which the target's bytes come and go. */
export type OpenTunnel = (
  address: { address: string; family: number; port: number },
  onAsked: () => void,
  done: (error: EgressProxyError | null, socket: Socket | null) => void,
) => Tunnel

/** Statuses by which proxies say that the target could not be reached, rather than that they do not want to. */
const cannotReach = new Set([500, 502, 503, 504])

/**
 * Tunnels through an HTTP proxy by CONNECT. It is told addresses and never names: the guard has checked these, and a proxy
 * that resolved the name again could be answered otherwise.
 */
export function createTunnels(
  proxy: EgressProxy,
  lookup: Lookup,
  onFailure: (error: EgressProxyError) => void,
): OpenTunnel {
  const { hostname, port, authorization } = proxy
  return ({ address, family, port: targetPort }, onAsked, done) => {
    const authority = `${family === 6 ? `[${address}]` : address}:${targetPort}`
    const request = http.request({
      host: hostname,
      port,
      method: 'CONNECT',
      path: authority,
      agent: false,
      headers: {
        host: authority,
        connection: 'keep-alive',
        ...(authorization === null ? {} : { 'proxy-authorization': authorization }),
      },
      lookup: (name, options, callback) =>
        lookup(name, { all: true }, (error, addresses) => {
          const first = addresses[0]
          if (error || !first) callback(error ?? new Error('no address'), [])
          else if (options.all) callback(null, addresses)
          else callback(null, first.address, first.family)
        }),
    })
    let asked = false
    let ended = false
    const fail = (reason: EgressProxyError['reason'], message: string): void => {
      if (ended) return
      ended = true
      request.destroy()
      const error = new EgressProxyError(reason, message)
      onFailure(error)
      done(error, null)
    }
    request.once('socket', (socket) =>
      socket.once('connect', () => {
        asked = true
        onAsked()
      }),
    )
    request.on('error', () => {
      if (asked) fail('proxy_failed', 'the egress proxy closed the connection, or did not answer in HTTP')
      else fail('proxy_unreachable', 'the egress proxy could not be connected to')
    })
    request.once('connect', (response, socket, head) => {
      const status = response.statusCode ?? 0
      if (ended) {
        socket.destroy()
      } else if (status >= 200 && status <= 299) {
        ended = true
        if (head.length > 0) socket.unshift(head)
        done(null, socket as Socket)
      } else {
        socket.destroy()
        if (cannotReach.has(status)) {
          fail('proxy_connect_failed', `the egress proxy could not connect to the receiver (it answered ${status})`)
        } else fail('proxy_refused', `the egress proxy refused to connect to the receiver (it answered ${status})`)
      }
    })
    request.end()
    return {
      destroy() {
        ended = true
        request.destroy()
      },
    }
  }
}
