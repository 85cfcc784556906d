import { type FieldError, PosthornError } from '../errors.ts'

type Problem = { code: PosthornError['code']; detail: string; title: string; errors: FieldError[] }

/** What to do beyond what the API itself says. */
const advice: Partial<Record<PosthornError['code'], string>> = {
  unauthorized: 'Set `apiKey` to a token that is live: phk_...',
  forbidden: 'Use an operator key, or a tenant key for its own tenant; a publish key may only publish.',
  route_not_found: 'Is `url` that of the API alone, and the server of this version or newer?',
}

/** The error for an answer that is no success. */
export async function refusal(response: Response, what: string): Promise<PosthornError> {
  const { status, headers } = response
  const retryAfterSeconds = readRetryAfter(headers.get('retry-after'))
  if (status >= 300 && status < 400) {
    await response.body?.cancel()
    const place = headers.get('location') ?? 'nowhere'
    const message = `${what} was redirected to ${place}: redirects are not followed, so that the key goes nowhere else. Correct \`url\`.`
    return new PosthornError(message, { code: 'unexpected_answer', status })
  }
  const problem = readProblem(await response.text())
  if (problem === null) {
    const message = `${what} was answered ${status}, and not by Posthorn: is \`url\` that of the API, and what stands before it up?`
    return new PosthornError(message, { code: 'unexpected_answer', status, retryAfterSeconds })
  }
  const { code, errors } = problem
  const said = problem.detail || problem.title
  const fields = errors.map(({ path, message }) => `${path}: ${message}`).filter((field) => !said.includes(field))
  const text = [said, ...fields, advice[code]].filter(Boolean).join(' ')
  return new PosthornError(`${what} was refused (${status} ${code}): ${text}`, {
    code,
    status,
    errors,
    retryAfterSeconds,
  })
}

function readProblem(text: string): Problem | null {
  try {
    const problem = JSON.parse(text) as Partial<Problem>
    if (typeof problem.code !== 'string') return null
    return {
      code: problem.code,
      detail: problem.detail ?? '',
      title: problem.title ?? '',
      errors: problem.errors ?? [],
    }
  } catch {
    return null
  }
}

function readRetryAfter(header: string | null): number | null {
  if (header === null) return null
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null
}

/** Errors of a connection that was never made: whatever was asked has not been done. */
const neverSent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The error for a request that got no answer. */
export function noAnswer(error: unknown, what: string, base: string): PosthornError & { sent: boolean } {
  const reason = networkCode(error)
  const sent = !neverSent.has(reason ?? '')
  const does = sent ? 'broke the connection' : 'cannot be reached'
  const message = `${what}: ${base} ${does} (${reason ?? String((error as Error)?.message ?? error)}). Is the API up there, and \`url\` right?`
  return Object.assign(new PosthornError(message, { code: 'unreachable', cause: error }), { sent })
}

function networkCode(error: unknown): string | undefined {
  for (let at = error as { code?: unknown; cause?: unknown; errors?: unknown[] } | undefined; at; ) {
    if (typeof at.code === 'string') return at.code
    at = (at.cause ?? at.errors?.[0]) as typeof at
  }
  return undefined
}
