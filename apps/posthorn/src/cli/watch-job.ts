import { setTimeout as sleep } from 'node:timers/promises'
import type { components, Posthorn } from '@posthorn/client'
import { type ExitCode, exitCodes } from '../exit-code.ts'
import { createProgress } from './progress.ts'
import type { Session } from './session.ts'

export type Job = components['schemas']['Job']

const pollMs = 300
const patienceMs = 60_000

const whyFailed: Record<string, string> = {
  endpoint_disabled: 'the endpoint was disabled meanwhile: enable it, and recover again',
  endpoint_deleted: 'the endpoint was removed meanwhile',
}

/** Follows a job to its end, with its progress on stderr; goes on through an API that is away for a while. */
export async function watchJob(session: Session, client: Posthorn, first: Job, label: string): Promise<ExitCode> {
  const { out } = session
  const progress = out.json ? null : createProgress(label)
  let job = first
  let awaySince: number | null = null
  while (job.status === 'running') {
    progress?.update(job.done, job.total)
    await sleep(pollMs)
    try {
      job = await client.jobs.get(job.id)
      awaySince = null
    } catch (error) {
      awaySince ??= Date.now()
      if (!isAway(error) || Date.now() - awaySince > patienceMs) throw error
    }
  }
  progress?.update(job.done, job.total)
  progress?.end()
  return tellJob(session, job)
}

/** Prints a job, and says what its state means. */
export function tellJob({ out }: Session, job: Job): ExitCode {
  const counted = job.total === null ? `${job.done}` : `${job.done} of ${job.total}`
  const why = job.error === null ? '' : `: ${whyFailed[job.error] ?? job.error}`
  out.item(job, () => `${job.id} ${job.status}, ${counted}${why}`)
  return job.status === 'failed' || job.status === 'stopped' ? exitCodes.failed : exitCodes.done
}

/** The API does not answer now, and may later. */
export function isAway(error: unknown): boolean {
  const { code, status } = error as { code?: unknown; status?: unknown }
  return code === 'unreachable' || code === 'timed_out' || (typeof status === 'number' && status >= 500)
}
