import { createRoute } from '@hono/zod-openapi'
import { stopJob } from '@posthorn/core/sql'
import type { App, RouteDeps } from '../../app.ts'
import { ApiProblem, notFound } from '../../http/api-problem.ts'
import { json, problems } from '../../http/responses.ts'
import { jobParameters, jobSchema, ownerOf, presentJob } from './job.ts'

export const jobStop = createRoute({
  method: 'delete',
  path: '/v1/jobs/{job}',
  operationId: 'stopJob',
  tags: ['Jobs'],
  summary: 'Stop a job',
  description:
    'What it has done stays done, and nothing is added once this is answered. One that is stopped already stays so. The deletion of a tenant cannot be stopped.',
  request: { params: jobParameters },
  responses: { 200: json(jobSchema, 'Stopped'), ...problems },
})

export function registerJobStop(app: App, { pool }: Pick<RouteDeps, 'pool'>): void {
  app.openapi(jobStop, async (c) => {
    const row = await stopJob(pool, c.req.valid('param').job, ownerOf(c.var.principal))
    if (row === null) throw notFound('job')
    if (row.status === 'running') throw new ApiProblem('state_conflict', 'The deletion of a tenant cannot be stopped.')
    if (row.status !== 'stopped') throw new ApiProblem('state_conflict', `The job has ended: it is ${row.status}.`)
    return c.json(presentJob(row), 200)
  })
}
