import { invalidArgument, PosthornError } from '../errors.ts'
import { routes } from '../generated/routes.ts'
import { noAnswer, refusal } from './failure.ts'
import type { AnswerOf, BodyOf, OperationId, PathOf } from './operation.ts'
import { repeat } from './repeat.ts'
import { baseUrl, requestPath, requestUrl } from './request-url.ts'

export type ClientOptions = {
  /** Where the API is: `https://posthorn.internal`. A path before `/v1` is kept. */
  url: string | URL
  /** A token: `phk_...`. */
  apiKey: string
  /** How long one request may take, its answer included, in ms. Default 30,000. */
  timeoutMs?: number
  /** How often at most a call is sent again after 429, 503 or a broken connection. Default 4. */
  retries?: number
  /** In place of the runtime's own. */
  fetch?: typeof globalThis.fetch
}

export type CallOptions = Pick<ClientOptions, 'timeoutMs' | 'retries'> & {
  /** Gives the call up: it rejects with the signal's reason. Whether it was done is then not known. */
  signal?: AbortSignal
}

export type CallInput<O extends OperationId> = {
  path: PathOf<O>
  query?: object
  /** Sent as JSON, but for what is JSON already. */
  body?: BodyOf<O> | JsonText
  headers?: Record<string, string>
  /** May it be done twice? Default: whatever is not a POST. */
  repeatable?: boolean
  /** A status that is an answer too. */
  alsoTakes?: number
  /** It removes something and answers nothing: not found after a try whose answer was lost means that it was done. */
  removes?: boolean
}

/** JSON text that is sent as it is. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Answer<T> = { value: T; headers: Headers }

export type Caller = {
  /** Answers with what the contract says. */
  json<O extends OperationId>(operation: O, input: CallInput<O>, options?: CallOptions): Promise<AnswerOf<O>>
  /** The same, with the headers of the answer. */
  full<O extends OperationId>(operation: O, input: CallInput<O>, options?: CallOptions): Promise<Answer<AnswerOf<O>>>
  /** The answer's body as it came. */
  bytes<O extends OperationId>(operation: O, input: CallInput<O>, options?: CallOptions): Promise<Uint8Array>
}

/** Makes what all methods call through. */
export function createCaller(settings: ClientOptions): Caller {
  const base = baseUrl(settings.url)
  const { apiKey } = settings
  if (typeof apiKey !== 'string' || !/^[!-~]+$/.test(apiKey)) {
    throw invalidArgument('/apiKey', 'must be a token, phk_..., without spaces or line breaks around it')
  }

  async function send<O extends OperationId, T>(
    operation: O,
    input: CallInput<O>,
    options: CallOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<Answer<T>> {
    const [method, route] = routes[operation]
    const { query = {}, body, repeatable = method !== 'POST', alsoTakes, removes = false } = input
    const { signal, timeoutMs = settings.timeoutMs ?? 30_000, retries = settings.retries ?? 4 } = options
    const path = requestPath(route, (input.path ?? {}) as Record<string, string>)
    const what = `${method} ${path}`
    const url = requestUrl(base, path, query as Record<string, unknown>)
    const headers: Record<string, string> = { ...input.headers, authorization: `Bearer ${apiKey}` }
    const text = body instanceof JsonText ? body.text : body === undefined ? undefined : writeJson(body)
    if (text !== undefined) headers['content-type'] = 'application/json'
    let unclear = false

    return repeat(
      async () => {
        const deadline = AbortSignal.timeout(timeoutMs)
        const ends = signal ? AbortSignal.any([signal, deadline]) : deadline
        const request = {
          method,
          headers,
          redirect: 'manual' as const,
          signal: ends,
          ...(text === undefined ? {} : { body: text }),
        }
        try {
          const response = await (settings.fetch ?? globalThis.fetch)(url, request)
          if (response.ok || response.status === alsoTakes)
            return { value: await read(response), headers: response.headers }
          const gone = removes && unclear && response.status === 404
          if (gone) return { value: undefined as T, headers: response.headers }
          throw await refusal(response, what)
        } catch (error) {
          const failure = signal?.aborted ? error : describe(error)
          unclear ||= failure instanceof PosthornError && (failure.status === null || failure.status >= 500)
          throw failure
        }
        function describe(error: unknown): unknown {
          if (error instanceof PosthornError) return error
          if (!deadline.aborted) return noAnswer(error, what, base)
          const message = `${what} had no answer within ${timeoutMs} ms: is the API overloaded, or \`timeoutMs\` too short?`
          return new PosthornError(message, { code: 'timed_out', cause: error })
        }
      },
      { retries, repeatable, signal },
    )
  }

  const full: Caller['full'] = (operation, input, options = {}) =>
    send<typeof operation, AnswerOf<typeof operation>>(operation, input, options, readJson)
  return {
    full,
    json: async (operation, input, options) => (await full(operation, input, options)).value,
    bytes: async (operation, input, options = {}) => {
      const read = async (response: Response): Promise<Uint8Array> => new Uint8Array(await response.arrayBuffer())
      return (await send(operation, input, options, read)).value
    },
  }
}

function writeJson(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch (error) {
    throw invalidArgument('/', `cannot be written as JSON: ${(error as Error).message}`, error)
  }
}

async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  if (response.status === 204) return undefined as T
  try {
    return JSON.parse(text) as T
  } catch (error) {
    const type = response.headers.get('content-type') ?? 'no type'
    const message = `${response.status} came with ${type} in place of JSON: is \`url\` that of the API?`
    throw new PosthornError(message, { code: 'unexpected_answer', status: response.status, cause: error })
  }
}
