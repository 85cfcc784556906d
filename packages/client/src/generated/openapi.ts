// Made by `pnpm generate:client` from the contract. Change nothing here.
export interface paths {
    "/v1/tenants/{tenant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a tenant */
        get: operations["getTenant"];
        /**
         * Create or update a tenant
         * @description Replaces it whole: what is left out has its default again.
         */
        put: operations["putTenant"];
        post?: never;
        /**
         * Delete a tenant with all that it owns
         * @description For operators. Once this is answered, the tenant, its endpoints, events, deliveries and keys are not found any more, and no attempt begins; a job then deletes the rows, batch by batch. It ends when what was in flight has ended, and every transaction that was open before. Publishing for the tenant afterwards makes a new one of the same name.
         */
        delete: operations["deleteTenant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tenants */
        get: operations["listTenants"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a tenant's endpoints
         * @description Empty for a tenant that is not there yet.
         */
        get: operations["listEndpoints"];
        put?: never;
        /**
         * Register an endpoint
         * @description Makes the tenant when it is new. The answer holds the secret. Under the tenant `posthorn`, which an operator key alone may use, it takes the events about Posthorn itself: `endpoint.disabled`, `endpoint.enabled`, `endpoint.failing`, `endpoint.healthy` and `delivery.exhausted`.
         */
        post: operations["createEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an endpoint */
        get: operations["getEndpoint"];
        put?: never;
        post?: never;
        /**
         * Remove an endpoint
         * @description As disabling it: what is owed is canceled. Its history stays listed until retention.
         */
        delete: operations["deleteEndpoint"];
        options?: never;
        head?: never;
        /**
         * Change an endpoint
         * @description Replaces each named field whole; null sets its default. Once a pause is answered, no attempt begins. With another `url`, what is owed goes there from the next attempt on, and the failures of the old one are forgotten: its streak, its breaker and any wait that it had asked for. So they are when a disabled endpoint is enabled. With another `ordering`, what is in flight ends before the new one begins. Another `filter` decides what is published once it is answered. A version that `signatures` no longer names signs no more, its secrets are gone; one that is new there has a secret made for it.
         */
        patch: operations["updateEndpoint"];
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints/{endpoint}/secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an endpoint's secrets */
        get: operations["getEndpointSecret"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints/{endpoint}/secret/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate an endpoint's secret
         * @description The old and the new one both sign until the grace is over; at most 10 sign at once, a further one is a 409. Each attempt, a retry too, is signed with what is live then.
         */
        post: operations["rotateEndpointSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints/{endpoint}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How an endpoint does
         * @description What was attempted in a time, and what is owed and how the lane is now.
         */
        get: operations["getEndpointStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints/{endpoint}/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Owe again what an endpoint has not got
         * @description Over a range of time: what `failed`, what was `canceled`, and what was `missed`, which is what matches the filter that the endpoint has now and was never owed to it, because it was disabled, did not exist, or had another filter. A job owes them again in publish order, each with a fresh schedule and its `webhook-id`; attempts are numbered on. What has succeeded, or is owed already, is left alone. Recoveries of one endpoint run one after another. Once the endpoint is disabled or deleted, the job fails.
         */
        post: operations["recoverEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints/{endpoint}/matches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask whether events would be owed to an endpoint, and why not
         * @description Of a sample, or of the tenant's newest events, newest first. Decided as a publish decides it, by the endpoint's status, event types, channels and filter as they are now. Writes nothing.
         */
        post: operations["matchEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/endpoints/{endpoint}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event to one endpoint
         * @description An ordinary event, `posthorn.test` by default, owed to this endpoint alone, whatever its filter says. Waits for the first attempt, for up to 30 s. The body may be left out.
         */
        post: operations["testEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events
         * @description With `type`, a page may be short and yet not the last: go on while there is a `next_cursor`.
         */
        get: operations["listEvents"];
        put?: never;
        /**
         * Publish an event
         * @description Answered once it is committed. What is attempted is the very text of `payload`.
         */
        post: operations["publishEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Publish many events, all or none
         * @description Up to 1000 events and 16 MiB. The idempotency key covers the whole request.
         */
        post: operations["publishEventBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/{event}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an event with its payload */
        get: operations["getEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/{event}/payload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an event's payload alone
         * @description The very bytes that were published, and that every attempt sends.
         */
        get: operations["getEventPayload"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries
         * @description With a filter, a page may be short and yet not the last: go on while there is a `next_cursor`.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/{event}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List an event's deliveries */
        get: operations["listEventDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a delivery */
        get: operations["getDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a delivery's attempts */
        get: operations["listAttempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Owe a delivery again, now
         * @description An ended one gets a fresh schedule and keeps its `webhook-id`; a scheduled one is due now; a pending one is left as it is.
         */
        post: operations["redeliverDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tenants/{tenant}/events/{event}/deliveries/{endpoint}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop owing a delivery
         * @description While it is pending or scheduled. One that is canceled already stays so.
         */
        post: operations["cancelDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/event-types/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an event type */
        get: operations["getEventType"];
        /**
         * Create or update an event type
         * @description Replaces it whole: what is left out has its default again. A schema holds for publishes from the answer on; in other API processes within a second.
         */
        put: operations["putEventType"];
        post?: never;
        /**
         * Take an event type out of the catalogue
         * @description Events of the type, and endpoints that ask for it, stay as they are.
         */
        delete: operations["deleteEventType"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/event-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the event types */
        get: operations["listEventTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/event-types/{name}/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What would break under another schema
         * @description Holds the last events of the type, of all tenants, against a schema. Changes nothing. The type need not be in the catalogue.
         */
        post: operations["checkEventType"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/catalogue/openapi": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The catalogue as the webhooks of OpenAPI 3.1
         * @description For customers: the types with their descriptions, schemas and examples, by name. What is written can be imported again.
         */
        get: operations["getCatalogueOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/catalogue/asyncapi": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The catalogue as AsyncAPI 3
         * @description For customers: the types with their descriptions, schemas and examples, by name. What is written can be imported again.
         */
        get: operations["getCatalogueAsyncapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/catalogue/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make and change types as a document describes them
         * @description An AsyncAPI 3 or an OpenAPI 3.1 document, as JSON. Each type that it describes becomes what it says, all of them in one transaction; those that cannot be taken are refused, and stay as they are, as do types that it does not describe. References are followed inside the document; nothing is fetched. A second time, nothing changes.
         */
        post: operations["importCatalogue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the API keys
         * @description Revoked ones too, with the time at which they were.
         */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Make an API key
         * @description The answer shows the token, this once.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description At once in the process that answers, within a second in all others. The key stays in the list.
         */
        delete: operations["revokeApiKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a job's progress
         * @description An ended one is kept for as long as events are.
         */
        get: operations["getJob"];
        put?: never;
        post?: never;
        /**
         * Stop a job
         * @description What it has done stays done, and nothing is added once this is answered. One that is stopped already stays so. The deletion of a tenant cannot be stopped.
         */
        delete: operations["stopJob"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Is the process alive? */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Can the process serve?
         * @description The database answers, is migrated, and has the partitions of today and tomorrow. The age of the oldest work is told beside it, and makes nothing unready.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["getOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A filter over the payload: a condition, or several joined by `and`, `or` and `not`. */
        Filter: {
            /**
             * @description A JSON pointer into the payload; the empty one is the whole.
             * @example /data/total
             */
            path: string;
            equals?: string | number | boolean | null;
            in?: (string | number | boolean | null)[];
            exists?: boolean;
            prefix?: string;
            gt?: number | string;
            gte?: number | string;
            lt?: number | string;
            lte?: number | string;
        } | {
            and: components["schemas"]["Filter"][];
        } | {
            or: components["schemas"]["Filter"][];
        } | {
            not: components["schemas"]["Filter"];
        };
        Tenant: {
            /** @example acme */
            id: string;
            name: string | null;
            /**
             * @description Strings to strings: at most 50 keys, 16 KiB as JSON.
             * @example {
             *       "plan": "pro"
             *     }
             */
            metadata: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
        };
        Problem: {
            /** @example urn:posthorn:problem:invalid_request */
            type: string;
            title: string;
            status: number;
            detail: string;
            /**
             * @description | code | status | what to do |
             *     |---|---|---|
             *     | `invalid_json` | 400 | Send one JSON value. |
             *     | `invalid_utf8` | 400 | Encode the body in UTF-8. |
             *     | `byte_order_mark` | 400 | Send the body without a byte-order mark. |
             *     | `nested_too_deeply` | 400 | Nest at most 500 levels. |
             *     | `repeated_key` | 400 | Name each member of an object once. |
             *     | `malformed_request` | 400 | Send a whole request, well-formed HTTP. |
             *     | `unauthorized` | 401 | Send "Authorization: Bearer <token>" with a token that is not revoked or expired. |
             *     | `forbidden` | 403 | Use a token that may do this. |
             *     | `webhook_loop` | 403 | Give the endpoint a URL of its receiver, not of Posthorn. |
             *     | `not_found` | 404 | Unknown, deleted, or malformed as an id, or of another tenant. |
             *     | `route_not_found` | 404 | See /openapi.json for what there is. |
             *     | `method_not_allowed` | 405 | Use a method that the Allow header names. |
             *     | `request_timeout` | 408 | Send the whole request sooner. |
             *     | `uid_taken` | 409 | Another endpoint of the tenant has this uid. |
             *     | `too_many_secrets` | 409 | Wait until one that was rotated has expired. |
             *     | `state_conflict` | 409 | Read the resource, and see whether it is still wanted. |
             *     | `idempotency_key_in_use` | 409 | Send the same request again in a moment. |
             *     | `body_too_large` | 413 | Send less at once. |
             *     | `payload_too_large` | 413 | Publish a smaller payload. |
             *     | `uri_too_long` | 414 | Send a shorter path and query. |
             *     | `unsupported_media_type` | 415 | Send "content-type: application/json". |
             *     | `invalid_request` | 422 | Correct the fields that `errors` names. |
             *     | `not_an_object` | 422 | Send a JSON object. |
             *     | `not_an_array` | 422 | Send an array there. |
             *     | `too_many_events` | 422 | Split the batch. |
             *     | `unknown_event_type` | 422 | Add the type to the catalogue first. |
             *     | `schema_violation` | 422 | Correct the fields that `errors` names, or the schema of the type. |
             *     | `idempotency_key_reused` | 422 | Use a new key for other content. |
             *     | `too_many_requests` | 429 | Wait as long as Retry-After says. |
             *     | `headers_too_large` | 431 | Send fewer or shorter headers. |
             *     | `internal_error` | 500 | The fault is ours and is logged; try again later. |
             *     | `database_unavailable` | 503 | Wait as long as Retry-After says. |
             *     | `overloaded` | 503 | Wait as long as Retry-After says. |
             *     | `stopping` | 503 | Send the request again: another process, or this one restarted, will take it. |
             * @enum {string}
             */
            code: "invalid_json" | "invalid_utf8" | "byte_order_mark" | "nested_too_deeply" | "repeated_key" | "malformed_request" | "unauthorized" | "forbidden" | "webhook_loop" | "not_found" | "route_not_found" | "method_not_allowed" | "request_timeout" | "uid_taken" | "too_many_secrets" | "state_conflict" | "idempotency_key_in_use" | "body_too_large" | "payload_too_large" | "uri_too_long" | "unsupported_media_type" | "invalid_request" | "not_an_object" | "not_an_array" | "too_many_events" | "unknown_event_type" | "schema_violation" | "idempotency_key_reused" | "too_many_requests" | "headers_too_large" | "internal_error" | "database_unavailable" | "overloaded" | "stopping";
            errors: {
                /**
                 * @description A JSON pointer into the body; for a parameter of path or query, `/` and its name.
                 * @example /url
                 */
                path: string;
                message: string;
            }[];
        };
        Job: {
            /** @example job_01j8000000e008000000000000 */
            id: string;
            /** @example acme */
            tenant_id: string;
            /** @example ep_01j8000000e008000000000000 */
            endpoint_id: string | null;
            /**
             * @description `recover`, which counts deliveries owed again, or `delete_tenant`, which counts events deleted.
             * @example recover
             */
            kind: string;
            /** @enum {string} */
            status: "running" | "done" | "stopped" | "failed";
            /** @description How many there were when it began. Null while they are being counted, and where nobody counts. What changes meanwhile may make `done` differ. */
            total: number | null;
            done: number;
            /** @description Why it failed: `endpoint_disabled` or `endpoint_deleted` (meanwhile: no more is owed), or `internal`. What was done until then stays done. */
            error: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            ended_at: string | null;
        };
        NewEndpoint: components["schemas"]["Endpoint"] & {
            /**
             * @description Of v1; null without it.
             * @example whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD
             */
            secret: string | null;
            /**
             * @description Of v1a; null without it. The private key is never shown.
             * @example null
             */
            public_key: string | null;
        };
        /**
         * @example {
         *       "limit": 10,
         *       "per_seconds": 1
         *     }
         */
        RateLimit: {
            limit: number;
            per_seconds: number;
        } | null;
        Endpoint: {
            /** @example ep_01j8000000e008000000000000 */
            id: string;
            uid: string | null;
            /** @example acme */
            tenant_id: string;
            url: string;
            description: string;
            event_types: string[] | null;
            channels: string[] | null;
            /**
             * @description Over the payload: see docs/filters.md. null takes all.
             * @example {
             *       "path": "/data/total",
             *       "gte": 100
             *     }
             */
            filter: components["schemas"]["Filter"] | null;
            /** @enum {string} */
            status: "enabled" | "paused" | "disabled";
            disabled_reason: string | null;
            /** @description Values are masked: "***". */
            headers: {
                [key: string]: string;
            };
            max_in_flight: number;
            rate_limit: components["schemas"]["RateLimit"];
            timeout_ms: number;
            retry_schedule: number[] | null;
            /** @enum {string} */
            ordering: "none" | "strict" | "by_key";
            /** @description With which versions attempts are signed. */
            signatures: ("v1" | "v1a")[];
            metadata: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
        };
        Secret: {
            /** @description Those that sign, newest first; at most 10. */
            secrets: {
                /** @enum {string} */
                signature: "v1" | "v1a";
                /** @description Of v1: `whsec_...`. null for v1a. */
                secret: string | null;
                /** @description Of v1a: `whpk_...`. null for v1. */
                public_key: string | null;
                /**
                 * Format: date-time
                 * @example 2026-01-31T09:30:00.000Z
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @example 2026-01-31T09:30:00.000Z
                 */
                expires_at: string | null;
            }[];
        };
        Stats: {
            /**
             * Format: date-time
             * @description Later than asked for when the tenant has published too much since: all attempts from here on are counted.
             * @example 2026-01-31T09:30:00.000Z
             */
            since: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            until: string;
            /** @description Requests that began in the time. Those that their dispatcher did not live to see the end of are neither succeeded nor failed. */
            attempts: number;
            succeeded: number;
            failed: number;
            /** @description succeeded / attempts; null without attempts. */
            success_rate: number | null;
            latency_ms: {
                p50: number;
                p95: number;
                p99: number;
            } | null;
            /** @description As it is now. Each is counted up to 500000. */
            backlog: {
                pending: number;
                scheduled: number;
                in_flight: number;
            };
            /**
             * Format: date-time
             * @description Since when the delivery that has waited longest is due.
             * @example 2026-01-31T09:30:00.000Z
             */
            oldest_due_at: string | null;
            lane: {
                /**
                 * Format: date-time
                 * @description Until then nothing is attempted.
                 * @example 2026-01-31T09:30:00.000Z
                 */
                blocked_until: string | null;
                failures_in_a_row: number;
            };
        };
        RecoveryCount: {
            total: number;
            failed: number;
            canceled: number;
            missed: number;
            /**
             * Format: date-time
             * @description Null when the whole range was counted. Else the time was up: this is where the counting ended, and there may be more.
             * @example 2026-01-31T09:30:00.000Z
             */
            counted_until: string | null;
        };
        Recovery: {
            /**
             * Format: date-time
             * @description Inclusive, on the events' created_at; at most as old as the retention.
             * @example 2026-01-31T09:30:00Z
             */
            since: string;
            /**
             * Format: date-time
             * @description Exclusive; now when left out, or in the future.
             * @example 2026-01-31T09:30:00Z
             */
            until?: string;
            /** @description All three when left out. */
            states?: ("failed" | "canceled" | "missed")[] | null;
            /** @description Only count. Writes nothing. */
            dry_run?: boolean | null;
        };
        Matches: {
            data: components["schemas"]["Match"][];
        };
        Match: {
            /**
             * @description null for a sample.
             * @example evt_01j8000000e008000000000000
             */
            event_id: string | null;
            /** @example invoice.paid */
            type: string;
            /** @description Whether it would be owed to the endpoint, were it published now. */
            matches: boolean;
            /** @description Why not; empty when it matches. */
            reasons: components["schemas"]["MatchReason"][];
        };
        MatchReason: {
            /**
             * @description `payload`: it has a number that is too large for filters to look at. `test_event`: a test of another endpoint.
             * @enum {string}
             */
            code: "status" | "event_type" | "channels" | "filter" | "payload" | "test_event";
            message: string;
            /**
             * @description What of the endpoint says no: a JSON pointer into it.
             * @example /filter/and/1/gte
             */
            at: string | null;
            /**
             * @description The place in the payload that was looked at: a JSON pointer into it.
             * @example /data/total
             */
            path: string | null;
            /**
             * @description The JSON that is there, cut after 200 characters; `{...}` or `[...]` for an object or an array; null for nothing.
             * @example 99.5
             */
            found: string | null;
        };
        MatchQuestion: {
            /** @example invoice.paid */
            type: string;
            /**
             * @description Any JSON value.
             * @example {
             *       "type": "invoice.paid",
             *       "data": {
             *         "id": 1042,
             *         "total": 99.5
             *       }
             *     }
             */
            payload: unknown;
            channels?: string[] | null;
        } | {
            /** @description How many of the tenant's newest events; fewer come when they are larger than 16 MiB together. */
            last: number;
        };
        Attempt: {
            /** @example att_01j8000000e008000000000000 */
            id: string;
            /** @example evt_01j8000000e008000000000000 */
            event_id: string;
            /** @example ep_01j8000000e008000000000000 */
            endpoint_id: string;
            number: number;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            started_at: string;
            duration_ms: number | null;
            url: string | null;
            /**
             * @description `lease_lost`: the dispatcher died or stalled, and what came of it is not known. `superseded`: it came back after its lease was reclaimed; it never decides a state.
             * @enum {string}
             */
            outcome: "succeeded" | "failed" | "lease_lost" | "superseded";
            /**
             * @description In which it left the delivery.
             * @enum {string}
             */
            state: "pending" | "scheduled" | "succeeded" | "failed" | "canceled";
            error: {
                /**
                 * @description | code | meaning |
                 *     |---|---|
                 *     | `url_invalid` | The URL cannot be used. |
                 *     | `target_refused` | The URL, or an address that its host resolves to, is not one that webhooks may be sent to. |
                 *     | `dns_not_found` | The host name does not exist, or has no address. |
                 *     | `dns_failed` | The host name could not be resolved: name servers failed or did not answer. |
                 *     | `connect_refused` | Nothing listens on that port. |
                 *     | `connect_timeout` | No connection was made in time. |
                 *     | `connect_reset` | The connection was closed while it was being set up. |
                 *     | `unreachable` | There is no route to the host. |
                 *     | `tls_expired` | The certificate has expired or is not valid yet. |
                 *     | `tls_untrusted` | The certificate is not signed by a trusted authority, or its chain is incomplete. |
                 *     | `tls_name_mismatch` | The certificate is for another host. |
                 *     | `tls_failed` | The TLS handshake failed. |
                 *     | `timeout` | The deadline passed before a status was received; the phase says where. |
                 *     | `request_invalid` | The request could not be written: a header is not valid in HTTP. |
                 *     | `response_invalid` | The answer is not valid HTTP/1.1, or holds more than an answer may. |
                 *     | `connection_closed` | The connection was closed before a status was received. |
                 *     | `connection_reset` | The connection was reset before a status was received. |
                 *     | `proxy_unreachable` | The egress proxy could not be connected to. |
                 *     | `proxy_refused` | The egress proxy refused to connect to the receiver. |
                 *     | `proxy_failed` | The egress proxy closed the connection, or did not answer in HTTP. |
                 *     | `proxy_connect_failed` | The egress proxy could not connect to the receiver. |
                 *     | `aborted` | The dispatcher gave the attempt up. |
                 *     | `local_limit` | The dispatcher has run out of sockets, files or memory. |
                 *     | `internal` | A fault in the dispatcher itself. |
                 */
                code: string;
                /** @description How far it had come: target, dns, proxy, connect, tls, request, headers. */
                phase: string | null;
                /** @description For people. */
                message: string | null;
            } | null;
            request: {
                /** @description Values of the endpoint's own headers are masked. */
                headers: {
                    [key: string]: string;
                };
            };
            response: {
                status: number;
                /** @description Names in lower case; a repeated one has its values joined by ", ". */
                headers: {
                    [key: string]: string;
                };
                body: string;
                /** @enum {string} */
                body_encoding: "utf8" | "base64";
                truncated: boolean;
            } | null;
        };
        Delivery: {
            /** @example evt_01j8000000e008000000000000 */
            event_id: string;
            /** @example ep_01j8000000e008000000000000 */
            endpoint_id: string;
            /** @example acme */
            tenant_id: string;
            /** @example invoice.paid */
            event_type: string;
            /** @enum {string} */
            state: "pending" | "in_flight" | "scheduled" | "succeeded" | "failed" | "canceled";
            /** @description Why it failed or was canceled: `exhausted`, `expired`, `gone`, `target_refused`, `endpoint_disabled`, `endpoint_deleted` or `by_request`. */
            reason: string | null;
            attempts: number;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            next_attempt_at: string | null;
            /** @description The HTTP status of the last attempt. */
            last_status: number | null;
            /** @description The error code of the last attempt. */
            last_error: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            ended_at: string | null;
        };
        EndpointTest: {
            /** @example invoice.paid */
            type?: string;
            /** @description Any JSON value. Sent byte for byte as it stands in the request. */
            payload?: unknown;
        };
        Event: {
            /** @example evt_01j8000000e008000000000000 */
            id: string;
            /** @example acme */
            tenant_id: string;
            /** @example invoice.paid */
            type: string;
            channels: string[] | null;
            ordering_key: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            deliver_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /** @description The endpoints that it was owed to when it was published. */
            deliveries: number;
        };
        Publish: {
            /** @example invoice.paid */
            type: string;
            /**
             * @description Any JSON value, nested at most 500 deep. Delivered byte for byte as it stands in the request.
             * @example {
             *       "type": "invoice.paid",
             *       "data": {
             *         "id": 1042,
             *         "total": 99.5
             *       }
             *     }
             */
            payload: unknown;
            channels?: string[] | null;
            /**
             * @description At endpoints that are ordered by key, events of one key arrive one at a time, in publish order.
             * @example order-1042
             */
            ordering_key?: string | null;
            /**
             * Format: date-time
             * @description Not attempted before; at most 30 days ahead. A time in the past is now.
             * @example 2026-01-31T09:30:00Z
             */
            deliver_at?: string | null;
        };
        PublishBatch: {
            events: components["schemas"]["Publish"][];
        };
        EventWithPayload: components["schemas"]["Event"] & {
            payload?: unknown;
        };
        EventType: {
            /** @example invoice.paid */
            name: string;
            description: string;
            /**
             * @description JSON Schema 2020-12 of its payloads.
             * @example {
             *       "type": "object",
             *       "required": [
             *         "total"
             *       ],
             *       "properties": {
             *         "total": {
             *           "type": "number",
             *           "minimum": 0
             *         }
             *       }
             *     }
             */
            schema: Record<string, never> | null;
            examples: unknown[];
            archived: boolean;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
        };
        SchemaCheckResult: {
            /** @description Events of the type that were held against the schema. */
            checked: number;
            failed: number;
            /** @description Whether these were as many as were asked for, or all there are. Else the time was up, or the type is rare: only the newest 100,000 events of all types are looked at. */
            complete: boolean;
            /** @description The newest 50 that fail. */
            failures: {
                /** @example evt_01j8000000e008000000000000 */
                event_id: string;
                tenant_id: string;
                errors: {
                    path: string;
                    message: string;
                }[];
            }[];
        };
        SchemaCheck: {
            /**
             * @description JSON Schema 2020-12 of its payloads.
             * @example {
             *       "type": "object",
             *       "required": [
             *         "total"
             *       ],
             *       "properties": {
             *         "total": {
             *           "type": "number",
             *           "minimum": 0
             *         }
             *       }
             *     }
             */
            schema: {
                [key: string]: unknown;
            };
            /** @description Events; 100 when left out. */
            last?: number | null;
        };
        CatalogueImport: {
            /** @enum {string} */
            format: "asyncapi" | "openapi";
            dry_run: boolean;
            data: {
                name: string;
                /** @enum {string} */
                outcome: "created" | "changed" | "unchanged" | "refused";
                /** @description Why it is refused, by pointers into the type as PUT takes it: `/schema/properties/id/type`. */
                errors: {
                    path: string;
                    message: string;
                }[];
            }[];
        };
        NewApiKey: components["schemas"]["ApiKey"] & {
            /**
             * @description Shown this once.
             * @example phk_...
             */
            token: string;
        };
        ApiKey: {
            /** @example key_01j8000000e008000000000000 */
            id: string;
            name: string;
            /** @enum {string} */
            kind: "operator" | "tenant" | "publish";
            /** @example acme */
            tenant_id: string;
            /** @description The first characters of the token, to tell keys apart. */
            prefix: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            last_used_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @example 2026-01-31T09:30:00.000Z
             */
            revoked_at: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string | null;
                    /**
                     * @description Strings to strings: at most 50 keys, 16 KiB as JSON.
                     * @example {
                     *       "plan": "pro"
                     *     }
                     */
                    metadata?: {
                        [key: string]: string;
                    } | null;
                };
            };
        };
        responses: {
            /** @description Updated */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted; a job clears up */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTenants: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Tenant"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEndpoints: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
            };
            header?: never;
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Endpoint"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uri
                     * @example https://example.com/hooks
                     */
                    url: string;
                    /** @description The product's own id, unique in the tenant. */
                    uid?: string | null;
                    description?: string | null;
                    /**
                     * @description null takes all.
                     * @example [
                     *       "invoice.*"
                     *     ]
                     */
                    event_types?: string[] | null;
                    /** @description null takes all; else the event must share one. */
                    channels?: string[] | null;
                    /**
                     * @description Over the payload: see docs/filters.md. null takes all.
                     * @example {
                     *       "path": "/data/total",
                     *       "gte": 100
                     *     }
                     */
                    filter?: components["schemas"]["Filter"] | null;
                    /** @enum {string|null} */
                    status?: "enabled" | "paused" | "disabled" | null;
                    /**
                     * @description Sent with each attempt. Values are Latin-1.
                     * @example {
                     *       "x-api-key": "value"
                     *     }
                     */
                    headers?: {
                        [key: string]: string;
                    } | null;
                    max_in_flight?: number | null;
                    /**
                     * @description At most so many attempts begin in so many seconds, over all dispatchers. null is no limit.
                     * @example {
                     *       "limit": 10,
                     *       "per_seconds": 1
                     *     }
                     */
                    rate_limit?: {
                        limit: number;
                        per_seconds: number;
                    } | null;
                    timeout_ms?: number | null;
                    /**
                     * @description Seconds after each attempt; [] is a single attempt, null the default.
                     * @example [
                     *       5,
                     *       300
                     *     ]
                     */
                    retry_schedule?: number[] | null;
                    /**
                     * @description `strict`: one attempt at a time, in publish order, a failing one holding back the rest. `by_key`: the same among events of one `ordering_key`; others flow past. Redeliveries join the tail. null is `none`.
                     * @enum {string|null}
                     */
                    ordering?: "none" | "strict" | "by_key" | null;
                    /**
                     * @description With which versions of Standard Webhooks signatures attempts are signed. `v1` (HMAC-SHA256) is what its official libraries verify. `v1a` (ed25519) lets a receiver verify with a public key alone; few libraries know it, and those that do not find no signature in a request that has no other. With both, each request carries both.
                     * @default [
                     *       "v1"
                     *     ]
                     */
                    signatures?: ("v1" | "v1a")[] | null;
                    /**
                     * @description Strings to strings: at most 50 keys, 16 KiB as JSON.
                     * @example {
                     *       "plan": "pro"
                     *     }
                     */
                    metadata?: {
                        [key: string]: string;
                    } | null;
                    /** @description `whsec_` and the base64 of 24 to 64 bytes (v1), or `whsk_` and the base64 of an ed25519 seed and its public key, 64 bytes (v1a). Made for you when left out. */
                    secret?: string | null;
                };
            };
        };
        responses: {
            /** @description Registered */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewEndpoint"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; nothing to say */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * Format: uri
                     * @example https://example.com/hooks
                     */
                    url?: string;
                    /** @description The product's own id, unique in the tenant. */
                    uid?: string | null;
                    description?: string | null;
                    /**
                     * @description null takes all.
                     * @example [
                     *       "invoice.*"
                     *     ]
                     */
                    event_types?: string[] | null;
                    /** @description null takes all; else the event must share one. */
                    channels?: string[] | null;
                    /**
                     * @description Over the payload: see docs/filters.md. null takes all.
                     * @example {
                     *       "path": "/data/total",
                     *       "gte": 100
                     *     }
                     */
                    filter?: components["schemas"]["Filter"] | null;
                    /** @enum {string|null} */
                    status?: "enabled" | "paused" | "disabled" | null;
                    /**
                     * @description Sent with each attempt. Values are Latin-1.
                     * @example {
                     *       "x-api-key": "value"
                     *     }
                     */
                    headers?: {
                        [key: string]: string;
                    } | null;
                    max_in_flight?: number | null;
                    /**
                     * @description At most so many attempts begin in so many seconds, over all dispatchers. null is no limit.
                     * @example {
                     *       "limit": 10,
                     *       "per_seconds": 1
                     *     }
                     */
                    rate_limit?: {
                        limit: number;
                        per_seconds: number;
                    } | null;
                    timeout_ms?: number | null;
                    /**
                     * @description Seconds after each attempt; [] is a single attempt, null the default.
                     * @example [
                     *       5,
                     *       300
                     *     ]
                     */
                    retry_schedule?: number[] | null;
                    /**
                     * @description `strict`: one attempt at a time, in publish order, a failing one holding back the rest. `by_key`: the same among events of one `ordering_key`; others flow past. Redeliveries join the tail. null is `none`.
                     * @enum {string|null}
                     */
                    ordering?: "none" | "strict" | "by_key" | null;
                    /**
                     * @description With which versions of Standard Webhooks signatures attempts are signed. `v1` (HMAC-SHA256) is what its official libraries verify. `v1a` (ed25519) lets a receiver verify with a public key alone; few libraries know it, and those that do not find no signature in a request that has no other. With both, each request carries both.
                     * @default [
                     *       "v1"
                     *     ]
                     */
                    signatures?: ("v1" | "v1a")[] | null;
                    /**
                     * @description Strings to strings: at most 50 keys, 16 KiB as JSON.
                     * @example {
                     *       "plan": "pro"
                     *     }
                     */
                    metadata?: {
                        [key: string]: string;
                    } | null;
                };
            };
        };
        responses: {
            /** @description Changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEndpointSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secrets that sign */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotateEndpointSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description `whsec_` and the base64 of 24 to 64 bytes (v1), or `whsk_` and the base64 of an ed25519 seed and its public key, 64 bytes (v1a). Made for you when left out. */
                    secret?: string | null;
                    /**
                     * @description Which version to rotate, where the endpoint signs with both. That of `secret`, or else `v1`, when left out.
                     * @enum {string|null}
                     */
                    signature?: "v1" | "v1a" | null;
                    /**
                     * @description How long the secrets before it sign too.
                     * @default 86400
                     */
                    grace_seconds?: number | null;
                };
            };
        };
        responses: {
            /** @description The secrets that sign now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEndpointStats: {
        parameters: {
            query?: {
                /** @description Inclusive; a day before `until` when left out; at most as old as the retention. */
                since?: string;
                /** @description Exclusive; now when left out. */
                until?: string;
            };
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The figures */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    recoverEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Recovery"];
            };
        };
        responses: {
            /** @description With `dry_run`: how many there are */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCount"];
                };
            };
            /** @description A job owes them again */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    matchEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MatchQuestion"];
            };
        };
        responses: {
            /** @description One for each event */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matches"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["EndpointTest"];
            };
        };
        responses: {
            /** @description The first attempt */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attempt"];
                };
            };
            /** @description Owed, and not attempted yet */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
                type?: string;
            };
            header?: never;
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Event"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publishEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Printable ASCII, 1 to 255 long, kept for at least 24 hours. The same request again gets the first answer again. */
                "idempotency-key"?: string;
            };
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Publish"];
            };
        };
        responses: {
            /** @description Accepted; `Idempotent-Replayed: true` when it had been before */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    publishEventBatch: {
        parameters: {
            query?: never;
            header?: {
                /** @description Printable ASCII, 1 to 255 long, kept for at least 24 hours. The same request again gets the first answer again. */
                "idempotency-key"?: string;
            };
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PublishBatch"];
            };
        };
        responses: {
            /** @description Accepted, in the order given */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Event"][];
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                event: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventWithPayload"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEventPayload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                event: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payload */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
                endpoint_id?: string;
                state?: "pending" | "in_flight" | "scheduled" | "succeeded" | "failed" | "canceled";
                event_type?: string;
            };
            header?: never;
            path: {
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest event first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Delivery"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEventDeliveries: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
            };
            header?: never;
            path: {
                tenant: string;
                event: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Where it went */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Delivery"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                event: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAttempts: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
            };
            header?: never;
            path: {
                tenant: string;
                event: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Attempt"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redeliverDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                event: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Owed */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant: string;
                event: string;
                /** @description Its id or its `uid`. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Canceled */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEventType: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event type */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventType"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putEventType: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    description?: string | null;
                    /**
                     * @description JSON Schema 2020-12: what is published with this type must match it. Null takes any payload.
                     * @example {
                     *       "type": "object",
                     *       "required": [
                     *         "total"
                     *       ],
                     *       "properties": {
                     *         "total": {
                     *           "type": "number",
                     *           "minimum": 0
                     *         }
                     *       }
                     *     }
                     */
                    schema?: Record<string, never> | null;
                    /** @description Payloads for readers; each must match the schema. */
                    examples?: unknown[] | null;
                    archived?: boolean | null;
                };
            };
        };
        responses: {
            /** @description Updated */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventType"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventType"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteEventType: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; nothing to say */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEventTypes: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["EventType"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    checkEventType: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SchemaCheck"];
            };
        };
        responses: {
            /** @description What was found */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchemaCheckResult"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCatalogueOpenapi: {
        parameters: {
            query?: {
                /** @description The document's title. */
                title?: string;
                /** @description The document's version. */
                version?: string;
                /** @description Whether archived types are in it. */
                archived?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCatalogueAsyncapi: {
        parameters: {
            query?: {
                /** @description The document's title. */
                title?: string;
                /** @description The document's version. */
                version?: string;
                /** @description Whether archived types are in it. */
                archived?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description AsyncAPI 3 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    importCatalogue: {
        parameters: {
            query?: {
                /** @description Only tell. Writes nothing. */
                dry_run?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @example 3.1.0 */
                    openapi?: string;
                    /** @description By the types of events; of each, the POST. */
                    webhooks?: {
                        [key: string]: {
                            post?: {
                                requestBody?: Record<string, never>;
                            };
                        };
                    };
                    /** @example 3.0.0 */
                    asyncapi?: string;
                    channels?: {
                        [key: string]: {
                            messages?: {
                                [key: string]: Record<string, never>;
                            };
                        };
                    };
                    components?: Record<string, never>;
                };
            };
        };
        responses: {
            /** @description What became, or would become, of each type */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogueImport"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `next_cursor` of the page before. */
                cursor?: string;
                /** @description Inclusive. */
                since?: string;
                /** @description Exclusive. */
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["ApiKey"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** @enum {string} */
                    kind: "operator" | "tenant" | "publish";
                    /**
                     * @description Required for a tenant key; a publish key without one may publish for any tenant.
                     * @example acme
                     */
                    tenant_id?: string;
                    /**
                     * Format: date-time
                     * @example 2026-01-31T09:30:00Z
                     */
                    expires_at?: string;
                };
            };
        };
        responses: {
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewApiKey"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; nothing to say */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job as it is now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stopJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Stopped */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Refused */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Alive, whatever else is */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It can */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready" | "not_ready";
                        /** @description Empty when ready. */
                        reasons: string[];
                        /**
                         * Format: date-time
                         * @description Since when the oldest delivery is due that may be attempted: not those of paused or blocked endpoints. At most 5 s old; null when there is none, or it cannot be told in time.
                         * @example 2026-01-31T09:30:00.000Z
                         */
                        oldest_due_at: string | null;
                        oldest_due_age_seconds: number | null;
                    };
                };
            };
            /** @description It cannot, and why */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready" | "not_ready";
                        /** @description Empty when ready. */
                        reasons: string[];
                        /**
                         * Format: date-time
                         * @description Since when the oldest delivery is due that may be attempted: not those of paused or blocked endpoints. At most 5 s old; null when there is none, or it cannot be told in time.
                         * @example 2026-01-31T09:30:00.000Z
                         */
                        oldest_due_at: string | null;
                        oldest_due_age_seconds: number | null;
                    };
                };
            };
        };
    };
    getOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
}
