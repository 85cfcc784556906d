import { type ClientOptions, createCaller } from './call/call.ts'
import { type ApiKeys, createApiKeys } from './resources/api-keys.ts'
import { type Catalogue, createCatalogue } from './resources/catalogue.ts'
import { createDeliveries, type Deliveries } from './resources/deliveries.ts'
import { createEndpoints, type Endpoints } from './resources/endpoints.ts'
import { createEventTypes, type EventTypes } from './resources/event-types.ts'
import { createEvents, type Events } from './resources/events.ts'
import { createJobs, type Jobs } from './resources/jobs.ts'
import { createServer, type Server } from './resources/server.ts'
import { createTenants, type Tenants } from './resources/tenants.ts'

/**
 * Posthorn over HTTP. Keeps no state but its settings: make one and share it.
 *
 * A call is sent again after 429, 503 or a broken connection, as long as it cannot be done twice by that: a publish carries an
 * idempotency key, and what creates or changes by POST is repeated only when it surely was not done.
 */
export class Posthorn {
  readonly tenants: Tenants
  readonly endpoints: Endpoints
  readonly events: Events
  readonly deliveries: Deliveries
  readonly eventTypes: EventTypes
  readonly catalogue: Catalogue
  readonly apiKeys: ApiKeys
  readonly jobs: Jobs
  readonly server: Server

  /** @throws PosthornError `invalid_argument` for an address or a key that cannot be one */
  constructor(options: ClientOptions) {
    const call = createCaller(options)
    this.tenants = createTenants(call)
    this.endpoints = createEndpoints(call)
    this.events = createEvents(call)
    this.deliveries = createDeliveries(call)
    this.eventTypes = createEventTypes(call)
    this.catalogue = createCatalogue(call)
    this.apiKeys = createApiKeys(call)
    this.jobs = createJobs(call)
    this.server = createServer(call)
  }
}
