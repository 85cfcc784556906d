/**
 * Every code that a problem document may carry: its status, its title, and what the caller can do. The codes are part
 * of the contract: one is added here, never renamed.
 */
export const problemCatalogue = {
  invalid_json: [400, 'Not JSON', 'Send one JSON value.'],
  invalid_utf8: [400, 'Not UTF-8', 'Encode the body in UTF-8.'],
  byte_order_mark: [400, 'Byte-order mark', 'Send the body without a byte-order mark.'],
  nested_too_deeply: [400, 'Nested too deeply', 'Nest at most 500 levels.'],
  repeated_key: [400, 'Repeated key', 'Name each member of an object once.'],
  malformed_request: [400, 'Malformed request', 'Send a whole request, well-formed HTTP.'],
  unauthorized: [
    401,
    'No valid token',
    'Send "Authorization: Bearer <token>" with a token that is not revoked or expired.',
  ],
  forbidden: [403, 'Token of the wrong kind', 'Use a token that may do this.'],
  webhook_loop: [403, 'A webhook is no request', 'Give the endpoint a URL of its receiver, not of Posthorn.'],
  not_found: [404, 'Not found', 'Unknown, deleted, or malformed as an id, or of another tenant.'],
  route_not_found: [404, 'No such route', 'See /openapi.json for what there is.'],
  method_not_allowed: [405, 'Method not allowed', 'Use a method that the Allow header names.'],
  request_timeout: [408, 'Request timed out', 'Send the whole request sooner.'],
  uid_taken: [409, 'The uid is taken', 'Another endpoint of the tenant has this uid.'],
  too_many_secrets: [409, 'Too many live secrets', 'Wait until one that was rotated has expired.'],
  state_conflict: [409, 'The state forbids it', 'Read the resource, and see whether it is still wanted.'],
  idempotency_key_in_use: [409, 'The first use is still under way', 'Send the same request again in a moment.'],
  body_too_large: [413, 'Body too large', 'Send less at once.'],
  payload_too_large: [413, 'Payload too large', 'Publish a smaller payload.'],
  uri_too_long: [414, 'URI too long', 'Send a shorter path and query.'],
  unsupported_media_type: [415, 'Content type is not JSON', 'Send "content-type: application/json".'],
  invalid_request: [422, 'Invalid request', 'Correct the fields that `errors` names.'],
  not_an_object: [422, 'Not an object', 'Send a JSON object.'],
  not_an_array: [422, 'Not an array', 'Send an array there.'],
  too_many_events: [422, 'Too many events', 'Split the batch.'],
  unknown_event_type: [422, 'Unknown event type', 'Add the type to the catalogue first.'],
  schema_violation: [
    422,
    'Payload against its schema',
    'Correct the fields that `errors` names, or the schema of the type.',
  ],
  idempotency_key_reused: [422, 'Idempotency key reused', 'Use a new key for other content.'],
  too_many_requests: [429, 'Too many requests', 'Wait as long as Retry-After says.'],
  headers_too_large: [431, 'Headers too large', 'Send fewer or shorter headers.'],
  internal_error: [500, 'Internal error', 'The fault is ours and is logged; try again later.'],
  database_unavailable: [503, 'Database unavailable', 'Wait as long as Retry-After says.'],
  overloaded: [503, 'Overloaded', 'Wait as long as Retry-After says.'],
  stopping: [503, 'Stopping', 'Send the request again: another process, or this one restarted, will take it.'],
} as const satisfies Record<string, readonly [status: number, title: string, remedy: string]>

export type ProblemCode = keyof typeof problemCatalogue
export type ProblemStatus = (typeof problemCatalogue)[ProblemCode][0]

export const problemCodes = Object.keys(problemCatalogue) as [ProblemCode, ...ProblemCode[]]

/** The `type` of a problem: a name, not an address. */
export function problemType(code: ProblemCode): string {
  return `urn:posthorn:problem:${code}`
}
