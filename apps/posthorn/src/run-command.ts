import { CommanderError } from 'commander'
import { createProgram } from './cli/program.ts'
import { createRunner } from './cli/runner.ts'
import { exitCodes } from './exit-code.ts'

/**
 * Runs `posthorn <command> ...` to its end: a role (`start`, `api`, `dispatcher`, ...) or a command of the command line.
 * @returns the exit code, one of `exitCodes`; 128 + n for a command that signal n has ended
 */
export async function runCommand(args: string[]): Promise<number> {
  // Whoever reads our output may be gone while we still drain.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  const runner = createRunner()
  try {
    await createProgram(runner, args.includes('--json')).parseAsync(args, { from: 'user' })
    return runner.exitCode()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // It has said already what is wrong, or shown what was asked for.
    return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage
  }
}
