export type { Outcome, SendRequest } from './outcome.ts'
export { createSender, type Sender, type SenderDeps } from './sender.ts'
