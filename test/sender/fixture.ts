import { onTestFinished } from 'vitest'
import type { SendRequest } from '../../apps/dispatcher/src/sender/index.ts'
import { createSender, type Outcome, type Sender, type SenderDeps } from '../../apps/dispatcher/src/sender/index.ts'

const loopback: SenderDeps['allowedTargets'] = [{ cidr: '127.0.0.0/8' }, { cidr: '::1/128' }]

/** What the sender logged as a fault of its own; a test that expects none checks that it is empty. */
export const internalErrors: unknown[] = []

export type TestSender = Sender & {
  post(url: string, request?: Partial<SendRequest>): Promise<Outcome>
}

/** A sender that may reach loopback; stopped with the test. */
export function newSender(deps: Partial<SenderDeps> = {}): TestSender {
  const log = {
    error: (fields: object) => internalErrors.push(fields),
    warn: () => undefined,
    info: () => undefined,
  }
  const sender = createSender({ allowedTargets: loopback, userAgent: 'Posthorn/0.0.0-test', log, ...deps })
  onTestFinished(() => sender.stop())
  const post = (url: string, request: Partial<SendRequest> = {}): Promise<Outcome> =>
    sender.send({
      url,
      headers: { 'webhook-id': 'evt_1', 'content-type': 'application/json' },
      body: Buffer.from('{"a":1}'),
      timeoutMs: 5_000,
      fresh: false,
      signal: new AbortController().signal,
      ...request,
    })
  return { ...sender, post }
}

/** An outcome in short: the status, or code and phase. */
export const brief = ({ response, error }: Outcome): string =>
  response ? `${response.status}${response.truncated ? ' truncated' : ''}` : `${error?.code} in ${error?.phase}`
