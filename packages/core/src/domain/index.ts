export { apiTokenForm, isApiToken, newApiToken } from './api-token.ts'
export {
  type AttemptErrorCode,
  type AttemptPhase,
  attemptErrorCodes,
  attemptErrors,
  attemptPhases,
} from './attempt-error.ts'
export { decodeBase64 } from './base64.ts'
export { decodeDoorbell, doorbellCapacity, doorbellChannel, encodeDoorbell } from './doorbell.ts'
export { decodeId, encodeId, type IdPrefix } from './ids.ts'
export * from './names.ts'
export { uuidV7 } from './uuid-v7.ts'
