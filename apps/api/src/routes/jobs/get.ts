import { createRoute } from '@hono/zod-openapi'
import { readJob } from '@posthorn/core/sql'
import type { App, RouteDeps } from '../../app.ts'
import { notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import { jobParameters, jobSchema, ownerOf, presentJob } from './job.ts'

export const jobGet = createRoute({
  method: 'get',
  path: '/v1/jobs/{job}',
  operationId: 'getJob',
  tags: ['Jobs'],
  summary: "Read a job's progress",
  description: 'An ended one is kept for as long as events are.',
  request: { params: jobParameters },
  responses: { 200: json(jobSchema, 'The job as it is now'), ...problems },
})

export function registerJobGet(app: App, { pool }: Pick<RouteDeps, 'pool'>): void {
  app.openapi(jobGet, async (c) => {
    const row = await readJob(pool, c.req.valid('param').job, ownerOf(c.var.principal))
    if (row === null) throw notFound('job')
    return c.json(presentJob(row), 200)
  })
}
