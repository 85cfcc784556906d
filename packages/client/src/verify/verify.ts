import { readHeader, readSigned, type WebhookHeaders } from './headers.ts'
import { decodeBase64, importKey, type Key, matches } from './key.ts'
import { WebhookError } from './webhook-error.ts'

export type VerifyOptions = {
  /** How far the webhook's time may lie from now, either way, in seconds. Default 300. */
  toleranceSeconds?: number
  /** Default: the current time. */
  now?: Date
}

/** A webhook that Posthorn signed. */
export type Webhook = {
  /** The event's id, the same on every attempt: what has been handled under it may be passed over. */
  id: string
  /** The event's type. */
  type: string | null
  /** When this attempt was made. */
  timestamp: Date
  /** The very bytes that were signed. */
  body: Uint8Array<ArrayBuffer>
  text(): string
  /** The payload, parsed anew at each call. */
  json<T = unknown>(): T
}

/** One secret or several: while a secret is rotated, the old and the new. `whsec_...` (v1) and `whpk_...` (v1a). */
export type Secrets = string | readonly string[]

export type Verifier = (headers: WebhookHeaders, rawBody: string | ArrayBuffer | Uint8Array) => Promise<Webhook>

/**
 * Verifies a webhook as Standard Webhooks 1.0.0 says, v1 (HMAC-SHA256) and v1a (ed25519), with the Web Cryptography API alone.
 *
 * @param rawBody the bytes as they were received, before any parsing
 * @throws WebhookError whose message says what to do
 */
export function verify(
  secrets: Secrets,
  headers: WebhookHeaders,
  rawBody: string | ArrayBuffer | Uint8Array,
  options?: VerifyOptions,
): Promise<Webhook> {
  return createVerifier(secrets, options)(headers, rawBody)
}

/** `verify` with the secrets read once, for a receiver that keeps them. */
export function createVerifier(secrets: Secrets, options: VerifyOptions = {}): Verifier {
  const list = typeof secrets === 'string' ? [secrets] : secrets
  let reading: Promise<Key[]> | undefined
  return async (headers, rawBody) => {
    if (!Array.isArray(list) || list.length === 0) {
      throw new WebhookError('bad_secret', "No secret was given: set the endpoint's own, whsec_....")
    }
    reading ??= Promise.all(list.map(importKey))
    const keys = await reading
    const body = toBytes(rawBody)
    const { id, timestamp, signatures } = readSigned(headers)
    const time = readTime(timestamp, options)
    const signed = joined(`${id}.${timestamp}.`, body)
    if (!(await anyMatches(keys, signatures, signed))) throw noMatch()
    return present(id, readHeader(headers, 'posthorn-event-type'), time, body)
  }
}

function readTime(timestamp: string, { toleranceSeconds = 300, now = new Date() }: VerifyOptions): Date {
  if (!/^[0-9]{1,12}$/.test(timestamp)) {
    throw new WebhookError('bad_timestamp', 'webhook-timestamp must be whole seconds since 1970.')
  }
  const ageSeconds = Math.floor(now.getTime() / 1000) - Number(timestamp)
  if (Math.abs(ageSeconds) > toleranceSeconds) {
    const [code, way] = ageSeconds > 0 ? (['too_old', 'ago'] as const) : (['too_new', 'ahead'] as const)
    const message =
      `It was signed ${Math.abs(ageSeconds)} s ${way} by this machine's clock, and ${toleranceSeconds} s are allowed: ` +
      'set the clock (NTP), or see what holds requests back on the way. Posthorn signs each attempt anew.'
    throw new WebhookError(code, message)
  }
  return new Date(Number(timestamp) * 1000)
}

/** Every signature is tried with every key of its version, and none tells of the others by the time it takes. */
async function anyMatches(keys: Key[], signatures: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const tried: Promise<boolean>[] = []
  let common = false
  // More than a rotation ever makes: a header of thousands is not worked through.
  for (const item of signatures.split(' ').slice(0, 64)) {
    const [version, written = ''] = item.split(',', 2)
    const fitting = keys.filter((key) => key.version === version)
    common ||= fitting.length > 0
    const signature = decodeBase64(written)
    if (signature !== null) tried.push(...fitting.map((key) => matches(key, signature, signed)))
  }
  if (!common) {
    const have = [...new Set(keys.map(({ version }) => version))].join(' and ')
    const message = `No signature of ${have}: v1 is verified with a whsec_ secret, v1a with a whpk_ key. Take the endpoint's own.`
    throw new WebhookError('no_common_version', message)
  }
  return (await Promise.all(tried)).includes(true)
}

function noMatch(): WebhookError {
  const message =
    "No signature fits: the secret is not this endpoint's, or the body is not the bytes that were sent " +
    '(parsed and written again, decoded, or changed on the way). Verify the raw body, before any parsing.'
  return new WebhookError('no_match', message)
}

function present(id: string, type: string | null, timestamp: Date, body: Uint8Array<ArrayBuffer>): Webhook {
  const text = (): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
  return { id, type, timestamp, body, text, json: <T>() => JSON.parse(text()) as T }
}

function toBytes(rawBody: unknown): Uint8Array<ArrayBuffer> {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  if (ArrayBuffer.isView(rawBody)) {
    return new Uint8Array(rawBody.buffer as ArrayBuffer, rawBody.byteOffset, rawBody.byteLength)
  }
  // Of another realm, too.
  if (Object.prototype.toString.call(rawBody) === '[object ArrayBuffer]') return new Uint8Array(rawBody as ArrayBuffer)
  throw alreadyParsed(`It is ${rawBody === null ? 'null' : `of type ${typeof rawBody}`}.`)
}

/** @param how what the framework needs to be told, a sentence */
export function alreadyParsed(how: string): WebhookError {
  const message = `The body is no longer the bytes that were signed: something has parsed or read it before. ${how}`
  return new WebhookError('body_already_parsed', message)
}

function joined(head: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const first = new TextEncoder().encode(head)
  const all = new Uint8Array(first.length + body.length)
  all.set(first)
  all.set(body, first.length)
  return all
}
