export type { AllowedTarget } from '@posthorn/core'
export { type ErrorCode, errorCodes } from './error-codes.ts'
export type { AttemptError, AttemptPhase, AttemptResponse, Outcome, SendRequest } from './outcome.ts'
export { createSender, type Sender, type SenderDeps, type SenderLog } from './sender.ts'
