import type { Command } from 'commander'
import { exitCodes } from '../../exit-code.ts'
import { reachable } from '../../start/reachable.ts'
import { listOf, wholeNumber } from '../arguments.ts'
import { networkCode } from '../failure.ts'
import { callsApi, examples } from '../help.ts'
import { defaultListenPort } from '../listen/default-port.ts'
import { createForward, forwardUrl } from '../listen/forward.ts'
import { showArrival } from '../listen/show-arrival.ts'
import { howToAllow, registerTemporary, type TemporaryEndpoint } from '../listen/temporary-endpoint.ts'
import { openWebhookServer } from '../listen/webhook-server.ts'
import type { Runner } from '../runner.ts'
import type { Session } from '../session.ts'

const testType = 'posthorn.test'
/** Below the default `timeout_ms` of an endpoint, so that Posthorn hears why. */
const forwardTimeoutMs = 14_000

type Options = {
  forwardTo?: string
  types?: string[]
  port: number
  host: string
  publicUrl?: string
  headers?: boolean
  test: boolean
}

export function defineListen(program: Command, { run }: Runner): void {
  const command = program
    .command('listen')
    .summary('receives webhooks here, and forwards them to a local server')
    .description(
      'Receives the webhooks of a tenant here: registers a temporary endpoint, verifies and prints each webhook, and forwards it to a server of yours with its original bytes and headers. Ctrl-C removes the endpoint.',
    )
    .argument('<tenant>', "the tenant's id")
    .option('--forward-to <url>', 'a port of this machine, or a URL: what it answers is what Posthorn is answered')
    .option('--types <types>', 'events of these types alone: invoice.paid,customer.*', listOf)
    .option('--port <port>', 'where it listens; 0 for any free port', wholeNumber(0, 65_535), defaultListenPort)
    .option('--host <address>', 'on which address', '127.0.0.1')
    .option('--public-url <url>', 'where dispatchers on other machines reach it, such as the address of a tunnel')
    .option('--headers', 'print headers too')
    .option('--no-test', 'do not try first whether a test webhook arrives')
  examples(callsApi(command), [
    ['listen acme', 'see what acme is sent'],
    ['listen acme --forward-to http://localhost:3000/webhooks', 'try the receiver that you are writing'],
  ]).action(run(listen, { endsItself: true }))
}

async function listen(session: Session, tenant: string, options: Options): Promise<number> {
  const { out, stopping } = session
  const forward =
    options.forwardTo === undefined ? null : createForward(forwardUrl(options.forwardTo), forwardTimeoutMs)
  const client = await session.posthorn()
  const server = await openWebhookServer({
    host: options.host,
    port: options.port,
    forward,
    keepsTo: (type) => type === testType,
    onArrival: (arrival) => showArrival(out, arrival, { withHeaders: options.headers === true }),
  })
  try {
    const url = options.publicUrl ?? `http://${reachable(options.host)}:${server.port}/`
    const endpoint = await registerTemporary(client, tenant, { url, port: server.port, types: options.types })
    const { createVerifier } = await import('@posthorn/client')
    server.verifyWith(createVerifier(endpoint.secret))
    out.note(`Listening for ${tenant} at ${url} as ${endpoint.id}. Ctrl-C removes it.`)
    if (options.test && !stopping.aborted) void tryOut(session, tenant, endpoint, url)
    await new Promise<void>((resolve) => {
      if (stopping.aborted) return resolve()
      stopping.addEventListener('abort', () => resolve(), { once: true })
    })
    return await leave(session, tenant, endpoint)
  } finally {
    await server.stop()
  }
}

/** Does a webhook arrive at all? Says what to do when it does not. */
async function tryOut({ out, posthorn, stopping }: Session, tenant: string, { id }: TemporaryEndpoint, url: string) {
  try {
    const result = await (await posthorn(0)).endpoints.test(tenant, id, { type: testType }, { signal: stopping })
    if (!('outcome' in result)) {
      out.note(
        result.reason === 'target_refused'
          ? `The dispatchers may not send to ${url}: ${howToAllow(url)}`
          : 'No dispatcher has tried it within 30 s: does one run? `posthorn doctor` looks',
      )
    } else if (result.outcome !== 'succeeded' && result.error?.code === 'target_refused') {
      out.note(`The dispatchers may not send to ${url}: ${howToAllow(url)}`)
    } else if (result.outcome !== 'succeeded') {
      const why = result.error?.message ?? result.error?.code ?? `status ${result.response?.status}`
      out.note(`A test webhook did not arrive (${why}): can the dispatchers reach ${url}? Else give --public-url`)
    }
  } catch (error) {
    if (!stopping.aborted) out.note(`No test webhook could be sent: ${(error as Error).message}`)
  }
}

async function leave({ out }: Session, tenant: string, endpoint: TemporaryEndpoint): Promise<number> {
  try {
    await endpoint.remove()
    out.note(`Removed ${endpoint.id}.`)
    return exitCodes.done
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    const why = code === 'unreachable' ? `the API cannot be reached (${networkCode(error)})` : message
    out.failure({
      code: 'left_behind',
      message: `endpoint ${endpoint.id} of ${tenant} is left behind, for ${why}: remove it with \`posthorn endpoints remove ${tenant} ${endpoint.id}\`, or listen on the same port again`,
      exitCode: exitCodes.failed,
    })
    return exitCodes.failed
  }
}
