import type { Role } from '@posthorn/core'
import type { Command } from 'commander'
import { examples } from '../help.ts'

type Example = readonly [line: string, what: string]

const roles: Record<Role, { summary: string; about: string; examples: [Example, Example] }> = {
  start: {
    summary: 'runs it all, with a Postgres of its own',
    about:
      'Runs it all: API, dispatcher, sample receiver, and a Postgres of its own unless POSTHORN_DATABASE_URL is set.',
    examples: [
      ['start', 'all in one, with its data in .posthorn'],
      ['start --json', 'the same, for a program to read'],
    ],
  },
  api: {
    summary: 'runs the API alone',
    about: 'Runs the API alone, on POSTHORN_DATABASE_URL. As many as you like.',
    examples: [
      ['api', 'the API of this machine'],
      ['api | tee api.log', 'its log is JSON, a line each'],
    ],
  },
  dispatcher: {
    summary: 'runs a dispatcher alone',
    about: 'Runs a dispatcher alone, on POSTHORN_DATABASE_URL: it sends what is owed. As many as you like.',
    examples: [
      ['dispatcher', 'one more dispatcher'],
      ['dispatcher | tee dispatcher.log', 'its log is JSON, a line each'],
    ],
  },
  migrate: {
    summary: 'brings the database to the newest migration',
    about: 'Brings POSTHORN_DATABASE_URL to the newest migration, and ends. The others do so too when they start.',
    examples: [
      ['migrate', 'before new versions are started'],
      ['migrate --json', 'what was applied, as JSON'],
    ],
  },
  reencrypt: {
    summary: 'seals secrets anew, after a change of keys',
    about: 'Seals anew, with POSTHORN_ENCRYPTION_KEY, what POSTHORN_ENCRYPTION_KEY_PREVIOUS had sealed, and ends.',
    examples: [
      ['reencrypt', 'once every process has both keys'],
      ['reencrypt --json', 'how much there was, as JSON'],
    ],
  },
  receiver: {
    summary: 'runs the sample receiver alone',
    about: 'Runs the sample receiver alone: it verifies the webhooks that it gets and prints a line for each.',
    examples: [
      ['receiver', 'to try a deployment out on'],
      ['receiver --json', 'a JSON object for each webhook'],
    ],
  },
}

/** The roles of a process. Each loads no more than it needs. */
export function defineRoles(program: Command): void {
  for (const [role, { summary, about, examples: pairs }] of Object.entries(roles) as [Role, (typeof roles)[Role]][]) {
    const command = program.command(role).summary(summary).description(about)
    examples(command, pairs).action(async () => {
      const { runRole } = await import('../../run-role.ts')
      process.exit(await runRole(role, program.opts<{ json?: boolean }>().json === true))
    })
  }
}
