import { createApi } from '@posthorn/api'
import { createLog, createVault, parseConfig } from '@posthorn/core'
import { createPool } from '@posthorn/core/db'
import { createPrisma } from '@posthorn/core/prisma'
import openapiTypescript, { astToString } from 'openapi-typescript'

/** What of an OpenAPI document is read here. */
type Contract = { paths: Record<string, Record<string, { operationId: string }>> }

const url = 'postgres://nobody@127.0.0.1:1/nothing'

/** The contract as the API makes it from its schemas. Nothing is connected to. */
export async function readContract(): Promise<Contract> {
  const log = createLog('silent')
  const encryptionKey = Buffer.alloc(32).toString('base64')
  const env = {
    POSTHORN_DATABASE_URL: url,
    POSTHORN_API_KEY: 'phk_that-nobody-uses',
    POSTHORN_ENCRYPTION_KEY: encryptionKey,
  }
  const config = { ...parseConfig(env, { role: 'api', folder: '/' }), maxPayloadBytes: 1 }
  const pool = createPool({ connectionString: url, max: 1, applicationName: 'contract', onError: () => undefined })
  const prisma = createPrisma(url)
  const api = createApi({ config, log, pool, prisma, vault: createVault(encryptionKey) })
  try {
    const response = await api.app.request('/openapi.json')
    return (await response.json()) as Contract
  } finally {
    await api.stop()
    await Promise.all([pool.end(), prisma.$disconnect()])
  }
}

/** The client's generated files by their names: the types of the contract, and the route of each operation. */
export async function generate(contract: Contract): Promise<Record<string, string>> {
  const types = astToString(await openapiTypescript(JSON.stringify(contract)))
  const routes = Object.entries(contract.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => {
      const route = `['${method.toUpperCase()}', '${path}']`
      return `  ${operationId}: ${route},\n`
    }),
  )
  const head = '// Made by `pnpm generate:client` from the contract. Change nothing here.\n'
  return {
    'openapi.ts': head + types,
    'routes.ts': `${head}export const routes = {\n${routes.join('')}} as const\n`,
  }
}
