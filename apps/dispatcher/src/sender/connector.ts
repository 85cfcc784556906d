import type { LookupAddress } from 'node:dns'
import net from 'node:net'
import tls from 'node:tls'
import { watchCertificate } from './certificate.ts'
import type { EgressProxyError, OpenTunnel, Tunnel } from './egress-proxy.ts'
import type { TargetGuard } from './target-guard.ts'

/** Where a request goes: a URL that has passed `checkUrl`, taken apart. */
export type Target = {
  origin: string
  /** Path and query. */
  path: string
  /** Without the brackets of IPv6. */
  hostname: string
  port: number
  secure: boolean
  literal: boolean
  /** Not through the egress proxy, though there is one. */
  direct: boolean
}

type DialPhase = 'dns' | 'proxy' | 'connect' | 'tls' | 'ready'

/** Told how far the connection has come, for the error's phase. */
export type DialProgress = { phase: DialPhase }

/**
 * Opens a connection. `done` is called once; never before this returns. The socket is null when none was opened.
 * @returns what is under way, to be destroyed when nobody waits for it any more
 */
export type Dial = (
  target: Target,
  progress: DialProgress,
  done: (error: Error | null, socket: net.Socket | null) => void,
) => net.Socket | Tunnel | null

/**
 * Of a host's several addresses the next is tried after this time. Node's own 250 ms gives up on any host that is farther
 * away than that, in favour of one that may not work at all.
 */
const nextAddressAfterMs = 1_000
const readAtOnceBytes = 64 * 1024

/**
 * Dials by TCP or TLS, past the guard, and through the egress proxy where there is one. It has no timeout of its own: the
 * attempt's deadline destroys what it returned.
 */
export function createConnector({ guard, openTunnel }: { guard: TargetGuard; openTunnel: OpenTunnel | null }): Dial {
  // One for all connections: made anew for each, it would read the trusted certificates each time.
  let secureContext: tls.SecureContext | null = null

  const secured = ({ hostname, literal }: Target): tls.ConnectionOptions => {
    secureContext ??= tls.createSecureContext()
    return {
      // SNI is for names only (RFC 6066); an address is verified against the certificate's IP entries all the same.
      ...(literal ? { host: hostname } : { servername: hostname.replace(/\.$/, '') }),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      secureContext,
    }
  }

  const direct: Dial = (target, progress, done) => {
    const { hostname, port, secure, literal } = target
    progress.phase = literal ? 'connect' : 'dns'
    const options = {
      host: hostname,
      port,
      lookup: guard.lookupFor(port, () => {
        progress.phase = 'connect'
      }),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
      noDelay: true,
    }
    const socket = secure
      ? tls.connect({ ...options, ...secured(target) })
      : net.connect({ ...options, highWaterMark: readAtOnceBytes } as net.TcpNetConnectOpts)
    if (secure) {
      socket.once('connect', () => {
        progress.phase = 'tls'
      })
    }
    socket.setNoDelay(true)
    whenOpen(socket, secure, progress, done)
    return socket
  }

  const tunnelled = (open: OpenTunnel, target: Target, progress: DialProgress, done: Parameters<Dial>[2]): Tunnel => {
    const { hostname, port, secure, literal } = target
    let current: Tunnel | null = null
    let given = false

    const over = (socket: net.Socket): void => {
      if (!secure) {
        progress.phase = 'ready'
        // Stays for the socket's life: an error without a listener would end the process.
        socket.on('error', ignore)
        done(null, socket)
        return
      }
      progress.phase = 'tls'
      const secureSocket = tls.connect({ socket, ...secured(target) })
      current = secureSocket
      whenOpen(secureSocket, true, progress, done)
    }
    const tryAt = (addresses: readonly LookupAddress[], index: number): void => {
      progress.phase = 'proxy'
      const asked = (): void => {
        progress.phase = 'connect'
      }
      const opened = (error: EgressProxyError | null, socket: net.Socket | null): void => {
        if (given) socket?.destroy()
        else if (socket) over(socket)
        else if (error?.reason === 'proxy_connect_failed' && index + 1 < addresses.length) tryAt(addresses, index + 1)
        else done(error, null)
      }
      current = open({ ...addresses[index]!, port }, asked, opened)
    }
    if (literal) {
      const family = hostname.includes(':') ? 6 : 4
      tryAt([{ address: hostname, family }], 0)
    } else {
      progress.phase = 'dns'
      guard.addressesOf(hostname, port, (error, addresses) => {
        // Not at once: the caller does not have what is returned here yet.
        queueMicrotask(() => {
          if (given) return
          if (error) done(error, null)
          else tryAt(addresses, 0)
        })
      })
    }
    return {
      destroy() {
        given = true
        current?.destroy()
      },
    }
  }

  return (target, progress, done) => {
    if (target.literal) {
      const refused = guard.checkLiteral(target.hostname, target.port)
      if (refused) {
        queueMicrotask(() => done(refused, null))
        return null
      }
    }
    if (openTunnel && !target.direct) return tunnelled(openTunnel, target, progress, done)
    return direct(target, progress, done)
  }
}

const ignore = (): void => {}

function whenOpen(socket: net.Socket, secure: boolean, progress: DialProgress, done: Parameters<Dial>[2]): void {
  const addCertificate = secure ? watchCertificate(socket as tls.TLSSocket) : null
  let finished = false
  const finish = (error: Error | null): void => {
    if (finished) return
    finished = true
    if (error) addCertificate?.(error)
    done(error, error ? null : socket)
  }
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    progress.phase = 'ready'
    finish(null)
  })
  // Stays for the socket's life: an error without a listener would end the process.
  socket.on('error', finish)
}
