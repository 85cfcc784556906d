import { describe, expect, test } from 'vitest'
import { type ConfigDefaults, parseConfig } from './config.ts'
import { ConfigError } from './config-error.ts'

const start: ConfigDefaults = { role: 'start', folder: '/home/me' }
const key = Buffer.alloc(32, 7).toString('base64')
const otherKey = Buffer.alloc(32, 8).toString('base64')
const url = 'postgres://me:s3cr3t@db/product'

function refusal(env: Record<string, string>, defaults = start): string {
  try {
    parseConfig(env, defaults)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
  return expect.fail('was taken')
}

describe('what is taken', () => {
  test('no settings at all give the defaults', () => {
    expect(parseConfig({}, start)).toEqual({
      role: 'start',
      databaseUrl: null,
      dataDir: '/home/me/.posthorn',
      host: '127.0.0.1',
      port: 8080,
      healthPort: null,
      apiKey: null,
      encryptionKey: null,
      encryptionKeyPrevious: null,
      allowedTargets: [],
      egressProxy: null,
      retryScheduleSeconds: [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400],
      maxAgeMs: 432_000_000,
      disableAfterMs: 432_000_000,
      concurrency: 256,
      retentionMs: 3_456_000_000,
      maxPayloadBytes: null,
      strictEventTypes: false,
      requestsPerSecond: 10_000,
      maxConnections: 10_000,
      corsOrigins: [],
      listenUrl: null,
      logLevel: 'info',
      warnings: [],
    })
  })

  test('each setting arrives', () => {
    const config = parseConfig(
      {
        POSTHORN_DATABASE_URL: url,
        POSTHORN_DATA_DIR: 'data',
        POSTHORN_HOST: '::',
        POSTHORN_PORT: '0',
        POSTHORN_HEALTH_PORT: '8079',
        POSTHORN_API_KEY: 'phk_0123456789abcdef',
        POSTHORN_ENCRYPTION_KEY: key,
        POSTHORN_ENCRYPTION_KEY_PREVIOUS: otherKey,
        POSTHORN_ALLOWED_TARGETS: '10.0.0.0/8, 127.0.0.1:8081,[::1]:8081,FD00::/8',
        POSTHORN_EGRESS_PROXY: 'http://me:p%40ss@proxy.internal:3128',
        POSTHORN_RETRY_SCHEDULE: '0s, 5s,5m,30m,2h',
        POSTHORN_MAX_AGE: '36h',
        POSTHORN_DISABLE_AFTER: '90s',
        POSTHORN_CONCURRENCY: '1',
        POSTHORN_RETENTION: '32d',
        POSTHORN_MAX_PAYLOAD_BYTES: '2048',
        POSTHORN_STRICT_EVENT_TYPES: 'true',
        POSTHORN_REQUESTS_PER_SECOND: '0',
        POSTHORN_MAX_CONNECTIONS: '50',
        POSTHORN_CORS_ORIGINS: 'https://app.example.com, http://localhost:3000',
        POSTHORN_LISTEN_URL: 'postgresql://direct/product',
        POSTHORN_LOG_LEVEL: 'debug',
        HOME: '/root',
      },
      { role: 'api', folder: '/home/me' },
    )
    expect(config).toEqual({
      role: 'api',
      databaseUrl: url,
      dataDir: '/home/me/data',
      host: '::',
      port: 0,
      healthPort: 8079,
      apiKey: 'phk_0123456789abcdef',
      encryptionKey: key,
      encryptionKeyPrevious: otherKey,
      allowedTargets: [
        { cidr: '10.0.0.0/8' },
        { address: '127.0.0.1', port: 8081 },
        { address: '::1', port: 8081 },
        { cidr: 'fd00::/8' },
      ],
      egressProxy: { hostname: 'proxy.internal', port: 3128, authorization: 'Basic bWU6cEBzcw==' },
      retryScheduleSeconds: [0, 5, 300, 1800, 7200],
      maxAgeMs: 129_600_000,
      disableAfterMs: 90_000,
      concurrency: 1,
      retentionMs: 2_764_800_000,
      maxPayloadBytes: 2048,
      strictEventTypes: true,
      requestsPerSecond: 0,
      maxConnections: 50,
      corsOrigins: ['https://app.example.com', 'http://localhost:3000'],
      listenUrl: 'postgresql://direct/product',
      logLevel: 'debug',
      warnings: [],
    })
  })

  test('an empty value counts as unset', () => {
    const empty = Object.fromEntries(
      ['DATABASE_URL', 'PORT', 'HEALTH_PORT', 'ENCRYPTION_KEY', 'ALLOWED_TARGETS', 'RETRY_SCHEDULE', 'LISTEN_URL'].map(
        (name) => [`POSTHORN_${name}`, ''],
      ),
    )
    expect(parseConfig(empty, start)).toEqual(parseConfig({}, start))
  })

  test('LISTEN goes to the database URL, elsewhere, or is off', () => {
    const env = { POSTHORN_DATABASE_URL: url, POSTHORN_ENCRYPTION_KEY: key }
    expect(parseConfig(env, start).listenUrl).toBe(url)
    expect(parseConfig({ ...env, POSTHORN_LISTEN_URL: 'off' }, start).listenUrl).toBe('off')
    expect(parseConfig({ POSTHORN_LISTEN_URL: 'off' }, start).listenUrl).toBe('off')
  })

  test('it is frozen throughout', () => {
    const env = { POSTHORN_ALLOWED_TARGETS: '10.0.0.0/8', POSTHORN_EGRESS_PROXY: 'http://proxy:3128' }
    const { allowedTargets, egressProxy, retryScheduleSeconds, ...config } = parseConfig(env, start)
    for (const part of [
      parseConfig(env, start),
      allowedTargets,
      allowedTargets[0],
      egressProxy,
      retryScheduleSeconds,
    ]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
    expect(Object.isFrozen(config.warnings)).toBe(true)
  })

  test('an egress proxy is an HTTP URL of a host, with or without port and credentials', () => {
    const proxy = (text: string) => parseConfig({ POSTHORN_EGRESS_PROXY: text }, start).egressProxy
    expect(proxy('http://proxy:3128')).toEqual({ hostname: 'proxy', port: 3128, authorization: null })
    expect(proxy('http://10.0.0.1/')).toEqual({ hostname: '10.0.0.1', port: 80, authorization: null })
    expect(proxy('http://[::1]:8888')).toEqual({ hostname: '::1', port: 8888, authorization: null })
  })

  test('an absolute data folder stays', () => {
    expect(parseConfig({ POSTHORN_DATA_DIR: '/var/lib/posthorn' }, start).dataDir).toBe('/var/lib/posthorn')
  })

  test('an unknown name is a warning, but for those of tests', () => {
    const env = { POSTHORN_PROT: 's3cr3t', POSTHORN_TEST_DATABASE_URL: 'x', POSTHORNX: 'y', 'POSTHORN_A\nB': '' }
    const { warnings } = parseConfig(env, start)
    expect(warnings).toHaveLength(2)
    expect(warnings[1]).toBe('POSTHORN_PROT is not a setting of Posthorn and has no effect')
    expect(warnings.join('')).not.toMatch(/s3cr3t|\n/)
  })
})

describe('what a role needs', () => {
  test.each(['api', 'dispatcher', 'migrate', 'receiver'] as const)('%s needs the database’s URL', (role) => {
    expect(refusal({ POSTHORN_ENCRYPTION_KEY: key }, { ...start, role })).toMatch(/^POSTHORN_DATABASE_URL is required/)
  })

  test.each(['api', 'dispatcher', 'start', 'receiver'] as const)(
    '%s needs the encryption key of its database',
    (role) => {
      expect(refusal({ POSTHORN_DATABASE_URL: url }, { ...start, role })).toMatch(
        /^POSTHORN_ENCRYPTION_KEY is required/,
      )
    },
  )

  test('migrate needs no encryption key', () => {
    expect(parseConfig({ POSTHORN_DATABASE_URL: url }, { ...start, role: 'migrate' }).encryptionKey).toBeNull()
  })
})

describe('what is refused', () => {
  test.each([
    [
      'POSTHORN_DATABASE_URL',
      ['mysql://me:s3cr3t@db', 'db', 'postgres:/db', 'postgres://me:s3cr3t@:x/', ' postgres://db'],
    ],
    ['POSTHORN_LISTEN_URL', ['on', 'http://me:s3cr3t@db', 'OFF']],
    ['POSTHORN_DATA_DIR', ['a\0b']],
    ['POSTHORN_HOST', ['a b', 'http://x', '\n']],
    ['POSTHORN_HEALTH_PORT', ['-1', '65536', 'off']],
    ['POSTHORN_PORT', ['-1', '65536', '80.5', '0x50', '8080 ', 'x\ny', '1e3', '99999999999999999999']],
    ['POSTHORN_API_KEY', ['s3cr3t', 's3cr3t s3cr3t s3cr3t', 's3cr3t'.repeat(50), 's3cr3t-0123456789\n']],
    [
      'POSTHORN_ENCRYPTION_KEY',
      ['s3cr3t', Buffer.alloc(31).toString('base64'), key.slice(0, -1), `${key}\n`, `${key}AAAA`],
    ],
    [
      'POSTHORN_EGRESS_PROXY',
      [
        'proxy:3128',
        'https://me:s3cr3t@proxy',
        'socks5://proxy',
        'http://',
        'http://proxy:0',
        'http://proxy:65536',
      ].concat([
        'http://me:s3cr3t@proxy/path',
        'http://proxy?s3cr3t',
        'http://proxy#x',
        'http://%ff:s3cr3t@proxy',
        ' http://proxy',
      ]),
    ],
    ['POSTHORN_RETRY_SCHEDULE', ['5', '5s,', '5s 5m', '-5s', '1.5s', '8d', '5s,5x', Array(21).fill('5s').join(',')]],
    ['POSTHORN_MAX_AGE', ['5', '0s', '5w', '99999d', '5 d', 'd']],
    ['POSTHORN_DISABLE_AFTER', ['5', '0d', 'never', '3651d']],
    ['POSTHORN_RETENTION', ['35d', '30d', '0d', 'forever', '3651d']],
    ['POSTHORN_CONCURRENCY', ['0', '10001', 'many', '-1']],
    ['POSTHORN_MAX_PAYLOAD_BYTES', ['0', '1MiB', '16777217']],
    ['POSTHORN_STRICT_EVENT_TYPES', ['1', 'yes', 'TRUE']],
    ['POSTHORN_REQUESTS_PER_SECOND', ['-1', '1.5', 'none', '1000001']],
    ['POSTHORN_MAX_CONNECTIONS', ['0', 'many', '1000001']],
    [
      'POSTHORN_CORS_ORIGINS',
      [
        '*',
        'app.example.com',
        'https://app.example.com/',
        'https://a/b',
        'https://A.example',
        'null',
        'file:///a',
        'https://a,',
      ],
    ],
    ['POSTHORN_ENCRYPTION_KEY_PREVIOUS', ['s3cr3t', Buffer.alloc(31).toString('base64')]],
    ['POSTHORN_LOG_LEVEL', ['loud', 'INFO', 'toString']],
    [
      'POSTHORN_ALLOWED_TARGETS',
      [
        'localhost:80',
        '10.0.0.0/33',
        '10.0.0.0/',
        '10.0.0.1/8',
        '10.0.0.0/8,',
        '10.1/16',
        '010.0.0.0/8',
        '0x7f.0.0.1:80',
        '2130706433:80',
        '127.0.0.1',
        '::1',
        '::1:80:x',
        '[127.0.0.1]:80',
        '127.0.0.1:0',
        '127.0.0.1:65536',
        '127.0.0.1:x',
        '::ffff:10.0.0.0/104',
        'fe80::1%eth0/64',
        '[::1]',
        '10.0.0.0/8/8',
        '*',
        '10.0.0.0/-1',
      ],
    ],
  ])('%s, in one line that names it and keeps secrets', (name, values) => {
    for (const value of values) {
      const message = refusal({ [name]: value })
      expect(message.startsWith(`${name} `), message).toBe(true)
      expect(message).not.toMatch(/s3cr3t|[\n\r\0]/)
      expect(message.length).toBeLessThan(300)
    }
  })

  test('retention is more than 30 days and the greatest age', () => {
    expect(refusal({ POSTHORN_MAX_AGE: '10d' })).toMatch(/^POSTHORN_RETENTION must be more than 30d/)
    expect(parseConfig({ POSTHORN_MAX_AGE: '9d' }, start).maxAgeMs).toBe(777_600_000)
  })
})
