export type { ErrorCode } from './error-codes.ts'
export type { AttemptError, Outcome, SendRequest } from './outcome.ts'
export { createSender, type Sender, type SenderDeps } from './sender.ts'
