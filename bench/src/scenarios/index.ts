import type { Scenario } from '../scenario.ts'
import { accept, acceptBatch } from './accept.ts'
import { acceptChecked } from './accept-checked.ts'
import { backlog } from './backlog.ts'
import { claimMany } from './claim-many.ts'
import { claimSettle } from './claims.ts'
import { createDrain } from './drain.ts'
import { drainEndpoints } from './drain-endpoints.ts'
import { filters } from './filters.ts'
import { held } from './held.ts'
import { idle } from './idle.ts'
import { isolation } from './isolation.ts'
import { claimBlocked } from './isolation-claim.ts'
import { latency } from './latency.ts'
import { memory } from './memory.ts'
import { ordering } from './ordering.ts'
import { orderingClaim } from './ordering-claim.ts'
import { raw } from './raw.ts'
import { createRecovery } from './recovery.ts'
import { createSteady } from './steady.ts'

const drains = [
  { endpoints: 10, byDefault: true },
  { endpoints: 1_000, byDefault: true },
  { endpoints: 10_000, byDefault: false },
]

export const scenarios: readonly Scenario[] = [
  raw,
  ...drains.map((drain) => createDrain({ ...drain, name: `drain-${drain.endpoints}`, concurrency: 400 })),
  ...drains
    .slice(0, 2)
    .map((drain) =>
      createDrain({ ...drain, name: `drain-${drain.endpoints}-default`, concurrency: null, byDefault: false }),
    ),
  drainEndpoints,
  accept,
  acceptBatch,
  acceptChecked,
  createSteady({ name: 'steady', eventsPerRequest: 100 }),
  createSteady({ name: 'steady-single', eventsPerRequest: 1 }),
  latency,
  memory,
  idle,
  isolation,
  claimBlocked,
  claimSettle,
  claimMany,
  backlog,
  held,
  createRecovery({
    name: 'recovery',
    what: 'twenty times --deliveries that failed at one paused endpoint, owed again by a job, and what others see of it',
    paused: true,
    byDefault: true,
  }),
  createRecovery({
    name: 'recovery-sent',
    what: 'the same at an endpoint to which they are delivered as they come',
    paused: false,
    byDefault: false,
  }),
  ordering,
  orderingClaim,
  filters,
]
