import { createRoute, z } from '@hono/zod-openapi'
import manifest from '../../../package.json' with { type: 'json' }
import type { App } from '../../app.ts'
import { json } from '../../http/responses.ts'
import { tags } from './tags.ts'

export const openapiJson = createRoute({
  method: 'get',
  path: '/openapi.json',
  operationId: 'getOpenapi',
  tags: ['Docs'],
  summary: 'This document',
  security: [],
  responses: { 200: json(z.looseObject({}), 'OpenAPI 3.1') },
})

/** Serves the contract, made once from the schemas that validate. */
export function registerOpenapi(app: App): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'An operator key may do all; a tenant key what lies under its tenant; a publish key only publish.',
  })
  let document: object | undefined
  app.openapi(openapiJson, (c) => {
    document ??= app.getOpenAPI31Document({
      openapi: '3.1.0',
      info: {
        title: 'Posthorn',
        version: manifest.version,
        description: 'Webhook delivery on Postgres. Errors are RFC 9457 problems; lists are newest first.',
        license: { name: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags,
      security: [{ token: [] }],
    })
    return c.json(document as Record<string, unknown>, 200)
  })
}
