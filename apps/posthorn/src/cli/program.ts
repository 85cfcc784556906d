import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { exitCodes } from '../exit-code.ts'
import { defineAttempts } from './commands/attempts.ts'
import { defineDeliveries } from './commands/deliveries.ts'
import { defineDoctor } from './commands/doctor.ts'
import { defineEndpoints } from './commands/endpoints.ts'
import { defineJob } from './commands/job.ts'
import { defineListen } from './commands/listen.ts'
import { definePublish } from './commands/publish.ts'
import { defineRecover } from './commands/recover.ts'
import { defineRedeliver } from './commands/redeliver.ts'
import { defineRoles } from './commands/roles.ts'
import { defineTail } from './commands/tail.ts'
import { defineTenants } from './commands/tenants.ts'
import type { Runner } from './runner.ts'

const about = `Webhooks out of Postgres: runs Posthorn, and looks after it.

The commands that call the API need no option in the folder in which \`start\` was typed. Elsewhere POSTHORN_URL says where the API is, and POSTHORN_API_KEY holds a key.`

const endings = `
Exit codes: ${exitCodes.done} done, ${exitCodes.failed} failed, ${exitCodes.wrongUsage} wrong usage, ${exitCodes.unreachable} the API cannot be reached, ${exitCodes.refused} the API key is refused, ${exitCodes.notFound} not found.
\`posthorn <command> --help\` has examples. docs/cli.md has it all.`

/** All commands. @param json faults of usage are told as JSON too */
export function createProgram(runner: Runner, json: boolean): Command {
  const program = new Command('posthorn')
    .description(about)
    .version(version(), '--version', 'the version')
    .helpOption('-h, --help', 'how a command is used')
    .helpCommand('help [command]', 'how a command is used')
    .option('--json', 'print JSON: one document, or for lists one a line')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => write(json ? faultAsJson(text) : `posthorn: ${text.replace(/^error: /, '')}`),
    })
    .showHelpAfterError(
      json ? false : '`posthorn --help` tells the commands, `posthorn <command> --help` how one is used.',
    )
    .addHelpText('after', endings)
    .exitOverride()
  program.commandsGroup('Run:')
  defineRoles(program)
  program.commandsGroup('Look:')
  defineTenants(program, runner)
  defineEndpoints(program, runner)
  defineDeliveries(program, runner)
  defineAttempts(program, runner)
  defineTail(program, runner)
  defineDoctor(program, runner)
  program.commandsGroup('Act:')
  definePublish(program, runner)
  defineRedeliver(program, runner)
  defineRecover(program, runner)
  defineJob(program, runner)
  defineListen(program, runner)
  return program
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function faultAsJson(text: string): string {
  const message = text.replace(/^error: /, '').trim()
  return `${JSON.stringify({ error: { code: 'wrong_usage', message, errors: [] } })}\n`
}
