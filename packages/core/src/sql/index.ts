export * from './attempt-read.ts'
export * from './cancel.ts'
export * from './catalogue-read.ts'
export * from './delivery-claim.ts'
export * from './delivery-expire.ts'
export * from './delivery-expire-ordered.ts'
export * from './delivery-give-back-unheld.ts'
export {
  type Promoted,
  type PromoteFrom,
  promoteDeliveries,
  readNextDue,
} from './delivery-promote.ts'
export * from './delivery-read.ts'
export {
  giveBackDeliveries,
  type ReclaimOptions,
  reclaimDeliveries,
} from './delivery-reclaim.ts'
export * from './delivery-settle.ts'
export type { DeliveryRow, DeliveryState } from './delivery-states.ts'
export * from './diagnose-horizon.ts'
export * from './diagnose-queue.ts'
export * from './diagnose-server.ts'
export * from './dispatcher-heartbeat.ts'
export { idBounds, type Period, uuidTime } from './event-bounds.ts'
export * from './event-publish.ts'
export * from './event-read.ts'
export { type PublishedPayload, walkEventsOfType } from './event-type-walk.ts'
export type { EventRow } from './event-walk.ts'
export { type EndpointMatches, type MatchAnswer, type MatchQuestion, matchEvents } from './filter-match.ts'
export * from './idempotency-key-read.ts'
export { deleteEndedJobs, type JobPace, type JobStep, workOnJob } from './job-batch.ts'
export * from './job-read.ts'
export * from './lane-drain.ts'
export * from './lane-sweep.ts'
export * from './order-change.ts'
export * from './publish-commit.ts'
export * from './publish-doorbell.ts'
export * from './publish-test-event.ts'
export * from './recover-start.ts'
export {
  countRecoverable,
  type RecoverCount,
  type RecoverRange,
  type RecoverState,
  recoverStates,
} from './recover-walk.ts'
export * from './redeliver.ts'
export * from './sealed-values.ts'
export * from './send-read.ts'
export * from './setting-payload.ts'
export * from './stats-attempts.ts'
export * from './stats-backlog.ts'
export * from './stats-oldest-due.ts'
export { readDeletedBelow, startTenantDelete } from './tenant-delete.ts'
export * from './upkeep-keys.ts'
export { type Lookout, lookOut } from './upkeep-lookout.ts'
export * from './upkeep-partitions.ts'
export * from './upkeep-vacuum.ts'
