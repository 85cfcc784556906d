import type { Command } from 'commander'
import { exitCodes } from '../../exit-code.ts'
import type { Check } from '../doctor/check.ts'
import { callsApi, examples } from '../help.ts'
import { printable, type Style } from '../output.ts'
import type { Runner } from '../runner.ts'

const marks: Record<Check['state'], [mark: string, style: Style]> = {
  ok: ['ok  ', 'good'],
  warn: ['warn', 'doubtful'],
  fail: ['FAIL', 'bad'],
  skip: ['skip', 'quiet'],
}

export function defineDoctor(program: Command, { run }: Runner): void {
  const command = program
    .command('doctor')
    .summary('looks whether all is well, and says what to do')
    .description(
      'Looks at the settings, the database (POSTHORN_DATABASE_URL, else that of `start`) and the API, and says what to do. It changes nothing. Exit code 1 when something fails.',
    )
  examples(callsApi(command), [
    ['doctor', 'with the environment of the API or a dispatcher'],
    [`doctor --json | jq 'select(.state == "fail")'`, 'only what fails'],
  ]).action(
    run(async (session) => {
      const { out } = session
      const { examine } = await import('../doctor/examine.ts')
      let failed = 0
      await examine(session, (check) => {
        if (check.state === 'fail') failed += 1
        const [mark, style] = marks[check.state]
        out.item(check, () => {
          const line = `${out.style(style, mark)}  ${check.name.padEnd(14)}  ${printable(check.message)}`
          return check.todo === null ? line : `${line}\n      ${' '.repeat(14)}  → ${check.todo}`
        })
      })
      return failed === 0 ? exitCodes.done : exitCodes.failed
    }),
  )
}
