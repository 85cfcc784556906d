import type { Command } from 'commander'
import { exitCodes } from '../exit-code.ts'
import { type StopSignal, signals } from '../signals.ts'
import { describeFailure } from './failure.ts'
import { createOutput } from './output.ts'
import { createSession, type GlobalOptions, type Session } from './session.ts'

/** Its exit code where that is not 0. */
type Ending = Promise<number | undefined> | Promise<void>

/** What a command does. */
export type Work<A extends unknown[]> = (session: Session, ...args: A) => Ending

export type RunOptions = {
  /** A signal only asks it to end, and it does what must be done first. Any other command ends at once. */
  endsItself?: boolean
}

export type Runner = {
  /** Makes an action of commander's. */
  run<A extends unknown[]>(work: Work<A>, options?: RunOptions): (...args: [...A, Command]) => Promise<void>
  exitCode(): number
}

/** Runs commands: gives each its session, tells of its failure, and remembers its exit code. */
export function createRunner(): Runner {
  let code: number = exitCodes.done

  async function toEnd(session: Session, work: () => Ending): Promise<number> {
    let ended: number
    try {
      ended = (await work()) ?? exitCodes.done
    } catch (error) {
      const failure = await describeFailure(error, session)
      session.out.failure(failure)
      ended = failure.exitCode
    }
    // The process is ended, and what a pipe has not taken by then is lost.
    await session.out.flushed()
    return ended
  }

  return {
    run<A extends unknown[]>(work: Work<A>, { endsItself = false }: RunOptions = {}) {
      return async (...args: [...A, Command]) => {
        const command = args.at(-1) as Command
        const options = command.optsWithGlobals<GlobalOptions>()
        const session = createSession({ options, out: createOutput(options.json === true) })
        const stopped = stopBySignal(session)
        const ended = toEnd(session, () => work(session, ...(args.slice(0, -1) as A)))
        code = await (endsItself ? ended : Promise.race([ended, stopped]))
      }
    },
    exitCode: () => code,
  }
}

/** Resolves with the exit code once a signal came, or once nobody reads what is printed. A second signal ends it at once. */
function stopBySignal(session: Session): Promise<number> {
  return new Promise((resolve) => {
    for (const name of Object.keys(signals) as StopSignal[]) {
      process.on(name, () => {
        if (session.stopping.aborted) process.exit(128 + signals[name])
        session.stop()
        resolve(128 + signals[name])
      })
    }
    process.stdout.on('error', () => {
      session.stop()
      resolve(exitCodes.done)
    })
  })
}
