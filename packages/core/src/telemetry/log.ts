import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino'

export type Log = Logger
export type LogLevel = (typeof logLevels)[number]

/** The levels of `POSTHORN_LOG_LEVEL`, most talkative first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Fields whose values are never written, at the top of a line, one or two objects below it. */
const hidden = [
  'authorization',
  'cookie',
  'headers',
  'secret',
  'secrets',
  'token',
  'password',
  'apiKey',
  'encryptionKey',
  'encryptionKeyPrevious',
  'databaseUrl',
  'listenUrl',
  'connectionString',
]

/**
 * Makes the process's log: one JSON object a line, on stderr, so that stdout stays the user's. Lines are written at
 * once: those before a crash are the ones that are needed.
 * @param stream where to, instead of stderr
 */
export function createLog(level: LogLevel, stream: DestinationStream = destination({ dest: 2, sync: true })): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: hidden.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[hidden]' },
    },
    stream,
  )
}
