import type { Command } from 'commander'
import { callsApi, examples } from '../help.ts'
import type { Runner } from '../runner.ts'
import { tellJob, watchJob } from '../watch-job.ts'

export function defineJob(program: Command, { run }: Runner): void {
  const command = program
    .command('job')
    .summary('tells how far a job is, or stops it')
    .description('Tells how far a job is, such as a recovery. Exit code 1 when it has failed or was stopped.')
    .argument('<job>', "the job's id: job_...")
    .option('--watch', 'follow it to its end')
    .option('--stop', 'stop it: what it has done stays done')
  examples(callsApi(command), [
    ['job job_01m8kt5xw5ej7bdvsv2r3a8x6c --watch', 'with a progress bar'],
    ['job job_01m8kt5xw5ej7bdvsv2r3a8x6c --stop', 'and no further'],
  ]).action(
    run(async (session, id: string, { watch, stop }: { watch?: boolean; stop?: boolean }) => {
      const client = await session.posthorn()
      const { jobs } = client
      if (stop) {
        session.out.item(await jobs.stop(id), () => `${id} stopped: what it has done stays done`)
        return
      }
      const job = await jobs.get(id)
      return watch ? watchJob(session, client, job, 'done') : tellJob(session, job)
    }),
  )
}
