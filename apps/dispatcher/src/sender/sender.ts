import {
  type AllowedTarget,
  createTargetRules,
  type EgressProxy,
  type TargetRules,
  type UrlCheck,
} from '@posthorn/core'
import { Attempt, type AttemptDeps } from './attempt.ts'
import { createConnections } from './connections.ts'
import { createConnector, type Target } from './connector.ts'
import { createTunnels, type EgressProxyError } from './egress-proxy.ts'
import type { AttemptError, Outcome, SendRequest } from './outcome.ts'
import { createResolver } from './resolver.ts'
import { createSignalWatch } from './signal-watch.ts'
import { createTargetGuard, type Lookup } from './target-guard.ts'
import { wireHeaders } from './wire-headers.ts'

export type SenderDeps = {
  /** Opened though they are not public; see `AllowedTarget`. */
  allowedTargets: readonly AllowedTarget[]
  /** As `Posthorn/0.1.0`. */
  userAgent: string
  log: SenderLog
  /** All requests go through it, but to addresses that were opened alone, with their port. Null or absent for none. */
  egressProxy?: EgressProxy | null
  /** Name servers to ask in place of the machine's, as `127.0.0.1:5353`. */
  nameServers?: readonly string[]
  /** Resolves names in place of /etc/hosts and name servers. */
  lookup?: Lookup
  /** How long an idle connection is kept, 4 s unless given. */
  keepAliveMs?: number
  /** A connection older than this is not used again, 60 s unless given. */
  maxConnectionAgeMs?: number
  /** Idle connections kept over all origins, 4,096 unless given. */
  maxIdleConnections?: number
}

/** As pino has them. */
type SenderLog = {
  error(fields: object, message: string): void
  warn(fields: object, message: string): void
  info(fields: object, message: string): void
}

export type Sender = {
  /** Makes one request and resolves with what came of it. Never rejects, and never makes a second request. */
  send(request: SendRequest): Promise<Outcome>
  /** Connections that exist, busy and idle. */
  openConnections(): number
  /** Aborts what still runs and closes all connections; returns when they are closed. Later sends are aborted at once. */
  stop(): Promise<void>
}

/** Targets remembered, so that an endpoint's URL is not parsed for each of its events. */
const maxTargets = 10_000

/** The one place that makes HTTP requests: HTTP/1.1 over undici, one deadline, a bounded read, guarded targets. */
export function createSender(deps: SenderDeps): Sender {
  const { allowedTargets, userAgent, log } = deps
  const onInternalError = (error: unknown): void =>
    log.error({ err: error }, 'the sender met an error it does not know')
  const rules = createTargetRules(allowedTargets)
  const resolver = deps.lookup ? null : createResolver({ servers: deps.nameServers })
  const lookup = deps.lookup ?? resolver!.lookup
  const guard = createTargetGuard({
    rules,
    lookup,
    onRefused: once((refused) => log.info(refused, 'refused a target; POSTHORN_ALLOWED_TARGETS opens it')),
  })
  const onProxyFailure = ({ reason, message }: EgressProxyError): void => {
    if (reason === 'proxy_connect_failed' || performance.now() < proxyToldUntil) return
    proxyToldUntil = performance.now() + 10_000
    log.warn({ reason }, message)
  }
  let proxyToldUntil = 0
  const openTunnel = deps.egressProxy ? createTunnels(deps.egressProxy, lookup, onProxyFailure) : null
  const dial = createConnector({ guard, openTunnel })
  const connections = createConnections({
    dial,
    keepAliveMs: deps.keepAliveMs ?? 4_000,
    maxAgeMs: deps.maxConnectionAgeMs ?? 60_000,
    maxIdle: deps.maxIdleConnections ?? 4_096,
    onInternalError,
  })
  const running = new Set<Attempt>()
  const attemptDeps: AttemptDeps = { connections, signals: createSignalWatch(), running, onInternalError }
  const targets = new Map<string, Target | AttemptError>()
  let stopped: Promise<void> | null = null

  const targetOf = (url: string): Target | AttemptError => {
    let target = targets.get(url)
    if (!target) {
      if (targets.size >= maxTargets) targets.clear()
      target = toTarget(rules.checkUrl(url), rules)
      targets.set(url, target)
    }
    return target
  }

  const start = (request: SendRequest, resolve: (outcome: Outcome) => void): void => {
    const target = targetOf(request.url)
    if ('code' in target) {
      resolve(notStarted(request, target, false))
      return
    }
    if (stopped || request.signal.aborted) {
      const error = { code: 'aborted', phase: 'target', message: 'the dispatcher gave the attempt up' } as const
      resolve(notStarted(request, error, true))
      return
    }
    const headers = wireHeaders(request.headers, userAgent)
    new Attempt(attemptDeps, request, target, resolve).start(headers)
  }

  const send = (request: SendRequest): Promise<Outcome> =>
    new Promise((resolve) => {
      try {
        start(request, resolve)
      } catch (error) {
        onInternalError(error)
        resolve(
          notStarted(request, { code: 'internal', phase: 'request', message: 'the attempt could not be made' }, false),
        )
      }
    })

  const stop = (): Promise<void> => {
    stopped ??= Promise.resolve().then(async () => {
      for (const attempt of [...running]) attempt.onAbort()
      resolver?.stop()
      await connections.stop()
    })
    return stopped
  }

  return { send, openConnections: connections.count, stop }
}

const maxRemembered = 1_000

/** Tells of each refusal once, as long as it is remembered. */
function once(
  tell: (refused: { host: string; address: string; reason: string }) => void,
): (refused: { host: string; address: string; reason: string }) => void {
  const told = new Set<string>()
  return (refused) => {
    const key = `${refused.host} ${refused.address}`
    if (told.has(key)) return
    if (told.size >= maxRemembered) told.clear()
    told.add(key)
    tell(refused)
  }
}

function toTarget(check: UrlCheck, rules: TargetRules): Target | AttemptError {
  if (!check.ok) return { code: check.code, phase: 'target', message: check.message }
  const { url, hostname, port, literal } = check
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    hostname,
    port,
    secure: url.protocol === 'https:',
    literal,
    direct: literal && rules.isOpenedAlone(hostname, port),
  }
}

function notStarted(request: SendRequest, error: AttemptError, aborted: boolean): Outcome {
  const { url } = request
  return { startedAt: new Date(), durationMs: 0, url, response: null, retryAfter: null, error, stale: false, aborted }
}
