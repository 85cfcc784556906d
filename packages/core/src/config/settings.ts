import { z } from 'zod'
import { defaultSchedule, scheduleLimits } from '../backoff/schedule.ts'
import { apiTokenForm, isApiToken } from '../domain/api-token.ts'
import { decodeBase64 } from '../domain/base64.ts'
import { logLevels } from '../telemetry/log.ts'
import { type AllowedTarget, parseAllowedTarget } from './allowed-target.ts'
import { parseDuration } from './duration.ts'
import { type EgressProxy, parseEgressProxy } from './egress-proxy.ts'

const dayMs = 86_400_000
/** Ten years: times reckoned from a setting must stay far inside what Postgres and JavaScript can hold. */
const maxDurationMs = 3_650 * dayMs

/**
 * The environment, a setting a line. Messages go on from the setting's name: "POSTHORN_PORT must be ...". They repeat
 * the value only of settings that hold no secret.
 */
export const settings = z.object({
  POSTHORN_DATABASE_URL: setting(postgresUrl).optional(),
  POSTHORN_DATA_DIR: setting(folder).default('.posthorn'),
  POSTHORN_HOST: setting(host).default('127.0.0.1'),
  POSTHORN_PORT: setting((text) => wholeNumber(text, 0, 65_535)).default(8080),
  POSTHORN_HEALTH_PORT: setting((text) => wholeNumber(text, 0, 65_535)).optional(),
  POSTHORN_API_KEY: setting(apiKey).optional(),
  POSTHORN_ENCRYPTION_KEY: setting(encryptionKey).optional(),
  POSTHORN_ENCRYPTION_KEY_PREVIOUS: setting(encryptionKey).optional(),
  POSTHORN_ALLOWED_TARGETS: setting(allowedTargets).default([]),
  POSTHORN_EGRESS_PROXY: setting(egressProxy).optional(),
  POSTHORN_RETRY_SCHEDULE: setting(retrySchedule).default([...defaultSchedule]),
  POSTHORN_MAX_AGE: setting(durationMs).default(5 * dayMs),
  POSTHORN_DISABLE_AFTER: setting(durationMs).default(5 * dayMs),
  POSTHORN_CONCURRENCY: setting((text) => wholeNumber(text, 1, 10_000)).default(256),
  POSTHORN_RETENTION: setting(durationMs).default(40 * dayMs),
  POSTHORN_MAX_PAYLOAD_BYTES: setting((text) => wholeNumber(text, 1, 16 * 1024 * 1024)).optional(),
  POSTHORN_STRICT_EVENT_TYPES: setting(trueOrFalse).default(false),
  POSTHORN_REQUESTS_PER_SECOND: setting((text) => wholeNumber(text, 0, 1_000_000)).default(10_000),
  POSTHORN_MAX_CONNECTIONS: setting((text) => wholeNumber(text, 1, 1_000_000)).default(10_000),
  POSTHORN_CORS_ORIGINS: setting(origins).default([]),
  POSTHORN_LISTEN_URL: setting((text) => (text === 'off' ? text : postgresUrl(text))).optional(),
  POSTHORN_LOG_LEVEL: setting(logLevel).default('info'),
})

/** The settings of commands that call the API of a running Posthorn. */
export const clientSettings = z.object({
  POSTHORN_URL: setting(apiUrl).optional(),
  POSTHORN_HOST: settings.shape.POSTHORN_HOST.unwrap().optional(),
  POSTHORN_PORT: settings.shape.POSTHORN_PORT.unwrap().optional(),
  POSTHORN_API_KEY: settings.shape.POSTHORN_API_KEY,
  POSTHORN_DATA_DIR: settings.shape.POSTHORN_DATA_DIR,
})

/** What is wrong with a value, as the end of a sentence that begins with the setting's name. */
class Wrong {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

function setting<T>(read: (text: string) => T | Wrong) {
  return z.string().transform((text, context): T => {
    const value = read(text)
    if (!(value instanceof Wrong)) return value
    context.addIssue({ code: 'custom', message: value.message })
    return z.NEVER
  })
}

function postgresUrl(text: string): string | Wrong {
  // The URL may hold a password, so no part of it is repeated.
  const wrong = new Wrong('must be a URL that begins with postgres:// or postgresql://')
  if (!/^postgres(?:ql)?:\/\//.test(text) || text.includes('\0')) return wrong
  return URL.canParse(text) ? text : wrong
}

function apiUrl(text: string): string | Wrong {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  if (url === null) return new Wrong('must be the address of the API, such as http://127.0.0.1:8080')
  // Whoever writes a secret there must not find it in a terminal's history, so no part of it is repeated.
  if (url.username || url.password || url.search || url.hash) {
    return new Wrong('must be an address alone, without user, password, query or fragment')
  }
  return text
}

function folder(text: string): string | Wrong {
  return text.includes('\0') ? new Wrong('must be the path of a folder') : text
}

function host(text: string): string | Wrong {
  if (/^[A-Za-z0-9._:%-]{1,255}$/.test(text)) return text
  return new Wrong(`must be an address or a host name to listen on, not ${shown(text)}`)
}

function wholeNumber(text: string, min: number, max: number): number | Wrong {
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  return new Wrong(`must be a whole number from ${min} to ${max}, not ${shown(text)}`)
}

function trueOrFalse(text: string): boolean | Wrong {
  return text === 'true' || text === 'false' ? text === 'true' : new Wrong(`must be true or false, not ${shown(text)}`)
}

function apiKey(text: string): string | Wrong {
  return isApiToken(text) ? text : new Wrong(`must be ${apiTokenForm}`)
}

function encryptionKey(text: string): string | Wrong {
  return decodeBase64(text)?.length === 32 ? text : new Wrong('must be exactly 32 bytes in base64 (44 characters)')
}

function allowedTargets(text: string): AllowedTarget[] | Wrong {
  const targets: AllowedTarget[] = []
  for (const entry of listOf(text)) {
    const target = parseAllowedTarget(entry)
    if (typeof target === 'string') return new Wrong(`has an entry ${shown(entry)} that is not taken: ${target}`)
    targets.push(target)
  }
  return targets
}

function origins(text: string): string[] | Wrong {
  const list = listOf(text)
  const wrong = list.find((entry) => !/^https?:\/\//.test(entry) || URL.parse(entry)?.origin !== entry)
  if (wrong === undefined) return list
  return new Wrong(`has an entry ${shown(wrong)} that is no origin (like https://app.example.com, without a path)`)
}

function egressProxy(text: string): EgressProxy | Wrong {
  return parseEgressProxy(text) ?? new Wrong('must be http://host:port, or http://user:password@host:port')
}

function retrySchedule(text: string): number[] | Wrong {
  const { maxEntries, maxEntrySeconds } = scheduleLimits
  const schedule: number[] = []
  for (const entry of listOf(text)) {
    const seconds = parseDuration(entry)
    if (seconds === null) return new Wrong(`has an entry ${shown(entry)} that is no duration (like 5s, 30m, 2h or 1d)`)
    if (seconds > maxEntrySeconds) return new Wrong(`has an entry ${shown(entry)} that is longer than 7d`)
    schedule.push(seconds)
  }
  return schedule.length <= maxEntries ? schedule : new Wrong(`must have at most ${maxEntries} entries`)
}

function durationMs(text: string): number | Wrong {
  const ms = (parseDuration(text) ?? 0) * 1000
  if (ms > 0 && ms <= maxDurationMs) return ms
  return new Wrong(`must be a duration from 1s to 3650d (like 90s, 30m, 2h or 5d), not ${shown(text)}`)
}

function logLevel(text: string): (typeof logLevels)[number] | Wrong {
  const level = logLevels.find((known) => known === text)
  return level ?? new Wrong(`must be one of ${logLevels.join(', ')}, not ${shown(text)}`)
}

function listOf(text: string): string[] {
  return text.split(',').map((entry) => entry.trim())
}

/** A value in quotes, on one line, cut short. */
function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}
