import { type StartApiOptions, startApi } from '@posthorn/api'
import { createLog, createVault, parseConfig, type Vault } from '@posthorn/core'
import { createPool, type Pool } from '@posthorn/core/db'
import { createPrisma } from '@posthorn/core/prisma'
import { agreeOnMaxPayload } from '@posthorn/core/sql'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

export const operatorToken = 'phk_operator-of-the-tests'

/** On every answer, unless its route says otherwise. */
export const headersOfAll = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}
const encryptionKey = Buffer.alloc(32, 7).toString('base64')

export type Answer<T = Record<string, unknown>> = { status: number; headers: Headers; text: string; body: T }

export type CallOptions = {
  /** Null: none. Default: the operator's. */
  token?: string | null
  /** Sent as JSON. */
  json?: unknown
  /** Sent as it is. */
  raw?: string | Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
}

export type ApiUnderTest = {
  url: string
  database: TestDatabase
  pool: Pool
  vault: Vault
  /** Default body type: whatever the caller says it is. */
  // biome-ignore lint/suspicious/noExplicitAny: what is asserted is the answer's shape
  call<T = any>(method: string, path: string, options?: CallOptions): Promise<Answer<T>>
  /** A token of a new key. */
  makeToken(kind: string, tenantId?: string): Promise<string>
  stopApi(): Promise<void>
  /** Everything; idempotent. */
  stop(): Promise<void>
}

export type ApiUnderTestOptions = {
  databaseUrl?: string
  /** Settings beside those that every test has. */
  env?: Record<string, string>
  limits?: StartApiOptions['limits']
}

/** The API on a socket and a database of its own, or on another that is given. */
export async function startApiUnderTest(options: ApiUnderTestOptions = {}): Promise<ApiUnderTest> {
  const database = await createTestDatabase()
  const databaseUrl = options.databaseUrl ?? database.url
  const config = parseConfig(
    {
      POSTHORN_DATABASE_URL: databaseUrl,
      POSTHORN_API_KEY: operatorToken,
      POSTHORN_ENCRYPTION_KEY: encryptionKey,
      POSTHORN_PORT: '0',
      POSTHORN_ALLOWED_TARGETS: '127.0.0.1/32',
      ...options.env,
    },
    { role: 'api', folder: '/' },
  )
  const pool = createPool({ connectionString: databaseUrl, max: 5, applicationName: 'test', onError: () => {} })
  const prisma = createPrisma(databaseUrl)
  const vault = createVault(encryptionKey)
  // One that is given may not be there.
  const maxPayloadBytes = options.databaseUrl === undefined ? await agreeOnMaxPayload(pool, null) : 1024 * 1024
  const api = await startApi({
    config: { ...config, maxPayloadBytes },
    log: createLog('silent'),
    pool,
    prisma,
    vault,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  })
  const url = `http://127.0.0.1:${api.port}`

  async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T>> {
    const { token = operatorToken, json, raw } = options
    const headers = new Headers(options.headers)
    if (token !== null) headers.set('authorization', `Bearer ${token}`)
    if (json !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json')
    const body = json !== undefined ? JSON.stringify(json) : raw
    const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) })
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').includes('json')
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson && text !== '' ? JSON.parse(text) : null) as T,
    }
  }

  let stopped: Promise<void> | undefined
  return {
    url,
    database,
    pool,
    vault,
    call,
    async makeToken(kind, tenantId) {
      const json = { name: 'test', kind, ...(tenantId === undefined ? {} : { tenant_id: tenantId }) }
      const made = await call<{ token: string }>('POST', '/v1/api-keys', { json })
      if (made.status !== 201) throw new Error(made.text)
      return made.body.token
    },
    stopApi: () => api.stop(),
    stop() {
      stopped ??= (async () => {
        await api.stop()
        await Promise.allSettled([pool.end(), prisma.$disconnect()])
        await database.drop()
      })()
      return stopped
    },
  }
}
