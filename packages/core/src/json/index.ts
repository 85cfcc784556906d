export {
  type BatchLimits,
  type EnvelopeLimits,
  type ScannedBatch,
  type ScannedEvent,
  type Span,
  scanBatch,
  scanEnvelope,
} from './envelope.ts'
export { EnvelopeError, type EnvelopeErrorCode } from './envelope-error.ts'
export { ExactNumber, parseExactly } from './exact-json.ts'
export { maxNesting } from './skip.ts'
