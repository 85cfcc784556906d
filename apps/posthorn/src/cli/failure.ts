import { exitCodes } from '../exit-code.ts'
import { StartFailure } from '../start-failure.ts'
import { NotFoundError } from './not-found-error.ts'
import { type Failure, printable } from './output.ts'
import type { Session } from './session.ts'
import { UsageError } from './usage-error.ts'

/** As much of an error of the client as is read here; its class is not loaded for commands that call no API. */
type ClientError = Error & { code: string; status: number | null; errors: readonly unknown[]; cause?: unknown }

/** What to say of an error, and the exit code. Holds no key. */
export async function describeFailure(error: unknown, session: Session): Promise<Failure> {
  if (error instanceof UsageError) {
    return { code: 'wrong_usage', message: error.message, exitCode: exitCodes.wrongUsage }
  }
  if (error instanceof NotFoundError) {
    return { code: 'not_found', message: error.message, exitCode: exitCodes.notFound }
  }
  if (error instanceof Error && error.name === 'ConfigError') {
    return { code: 'wrong_setting', message: error.message, exitCode: exitCodes.failed }
  }
  if (error instanceof StartFailure) return { code: 'failed', message: error.message, exitCode: exitCodes.failed }
  if (isClientError(error)) return describeClientError(error, session)
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: 'internal', message: `a fault of this program: ${message}`, exitCode: exitCodes.failed }
}

async function describeClientError(error: ClientError, session: Session): Promise<Failure> {
  const { code, errors } = error
  const said = printable(error.message)
  // It was found, for it was called.
  const { url, urlFrom, keyFrom } = await session.api()
  const place = `${url} (from ${urlFrom})`
  const key = `the key from ${keyFrom}`
  const is = (message: string, exitCode: number, todo?: string): Failure => ({ code, message, todo, exitCode, errors })
  switch (code) {
    case 'unreachable':
      return is(
        `the API at ${place} cannot be reached (${networkCode(error)})`,
        exitCodes.unreachable,
        'start it (npx -y pnpm@12 start), or say where it is with --url or POSTHORN_URL',
      )
    case 'timed_out':
      return is(
        `the API at ${place} did not answer in time: is it overloaded? \`posthorn doctor\` looks`,
        exitCodes.unreachable,
      )
    case 'unexpected_answer':
      return is(`what answers at ${place} is not Posthorn's API: ${said}`, exitCodes.unreachable)
    case 'unauthorized':
      return is(
        `the API at ${place} does not know ${key}, which was revoked, has expired, or belongs to another Posthorn`,
        exitCodes.refused,
        'set POSTHORN_API_KEY to a key of this one',
      )
    case 'forbidden':
      return is(
        `${key} may not do this: an operator key may do all, a tenant key what lies under its own tenant, a publish key only publish`,
        exitCodes.refused,
      )
  }
  if (code === 'invalid_argument' && /^(?:url|apiKey):/.test(said)) {
    const what = said.startsWith('url') ? urlFrom : keyFrom
    return is(`${what}: ${said.replace(/^\w+: /, '')}`, exitCodes.wrongUsage)
  }
  if (said.startsWith('payload_json:')) return is(said.replace('payload_json:', 'the payload'), exitCodes.wrongUsage)
  if (/is not a public address/.test(said))
    return is(`${said} POSTHORN_ALLOWED_TARGETS opens addresses of your own: docs/targets.md`, exitCodes.wrongUsage)
  if (code === 'invalid_argument' || error.status === 400 || error.status === 422) return is(said, exitCodes.wrongUsage)
  return is(said, error.status === 404 ? exitCodes.notFound : exitCodes.failed)
}

function isClientError(error: unknown): error is ClientError {
  return error instanceof Error && error.name === 'PosthornError'
}

/** The first code within an error: of the socket, mostly. */
export function networkCode(error: unknown): string {
  for (
    let at = (error as ClientError).cause as { code?: unknown; cause?: unknown; errors?: unknown[] } | undefined;
    at;
  ) {
    if (typeof at.code === 'string') return at.code
    at = (at.cause ?? at.errors?.[0]) as typeof at
  }
  return (error as ClientError).cause instanceof Error
    ? (error as ClientError & { cause: Error }).cause.message
    : 'no answer'
}
