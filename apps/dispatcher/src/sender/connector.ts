import net from 'node:net'
import tls from 'node:tls'
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
}

type DialPhase = 'dns' | 'connect' | 'tls' | 'ready'

/** Told how far the connection has come, for the error's phase. */
export type DialProgress = { phase: DialPhase }

/** Opens a connection. `done` is called once; never before this returns. The socket is null when none was opened. */
export type Dial = (
  target: Target,
  progress: DialProgress,
  done: (error: Error | null, socket: net.Socket | null) => void,
) => net.Socket | null

/**
 * Of a host's several addresses the next is tried after this time. Node's own 250 ms gives up on any host that is farther
 * away than that, in favour of one that may not work at all.
 */
const nextAddressAfterMs = 1_000

/** Dials by TCP or TLS, past the guard. It has no timeout of its own: the attempt's deadline destroys the socket. */
export function createConnector({ guard }: { guard: TargetGuard }): Dial {
  // One for all connections: made anew for each, it would read the trusted certificates each time.
  let secureContext: tls.SecureContext | null = null

  return (target, progress, done) => {
    const { hostname, port, secure, literal } = target
    progress.phase = literal ? 'connect' : 'dns'
    if (literal) {
      const refused = guard.checkLiteral(hostname, port)
      if (refused) {
        queueMicrotask(() => done(refused, null))
        return null
      }
    }

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
    let socket: net.Socket
    if (secure) {
      secureContext ??= tls.createSecureContext()
      socket = tls.connect({
        ...options,
        // SNI is for names only (RFC 6066); an address is verified against the certificate's IP entries all the same.
        ...(literal ? null : { servername: hostname.replace(/\.$/, '') }),
        ALPNProtocols: ['http/1.1'],
        rejectUnauthorized: true,
        secureContext,
      })
      socket.once('connect', () => {
        progress.phase = 'tls'
      })
    } else {
      socket = net.connect({ ...options, highWaterMark: 64 * 1024 } as net.TcpNetConnectOpts)
    }

    let finished = false
    const finish = (error: Error | null): void => {
      if (finished) return
      finished = true
      done(error, error ? null : socket)
    }
    socket.setNoDelay(true)
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      progress.phase = 'ready'
      finish(null)
    })
    // Stays for the socket's life: an error without a listener would end the process.
    socket.on('error', finish)
    return socket
  }
}
