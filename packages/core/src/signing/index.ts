export { generateSigningKey, isSigningKey, type ParsedSigningKey, parseSigningKey } from './ed25519.ts'
export { generateSecret, type ParsedSecret, parseSecret } from './secret.ts'
export { createSigner, type Signer } from './signer.ts'
export { type Verification, type VerifyOptions, verify, type WebhookHeaders } from './verify.ts'
