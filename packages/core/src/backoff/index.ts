export { maxRetryAfterMs, parseRetryAfter } from './retry-after.ts'
export { defaultSchedule, delayAfter, scheduleLimits } from './schedule.ts'
