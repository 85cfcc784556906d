export type { WebhookHeaders } from './headers.ts'
export { type ReceiveOptions, receive, verifyRequest } from './request.ts'
export { createVerifier, type Secrets, type Verifier, type VerifyOptions, verify, type Webhook } from './verify.ts'
export { WebhookError, type WebhookErrorCode } from './webhook-error.ts'
