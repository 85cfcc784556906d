import type { components } from '@posthorn/client'
import type { Command } from 'commander'
import { callsApi, examples } from '../help.ts'
import { isList, type ListOptions, pageSize, printList } from '../lists.ts'
import type { Column } from '../output.ts'
import type { Runner } from '../runner.ts'

const columns: readonly Column<components['schemas']['Tenant']>[] = [
  { name: 'TENANT', of: ({ id }) => id },
  { name: 'NAME', of: ({ name }) => name ?? '' },
  { name: 'CREATED', of: ({ created_at }) => created_at },
]

export function defineTenants(program: Command, { run }: Runner): void {
  const command = program
    .command('tenants')
    .summary('lists the tenants')
    .description('Lists the tenants, the newest first. Takes an operator key.')
  examples(isList(callsApi(command)), [
    ['tenants', 'the fifty newest'],
    ['tenants --all --json', 'all, a JSON object a line'],
  ]).action(
    run(async ({ out, posthorn }, options: ListOptions) => {
      const list = (await posthorn()).tenants.list({ limit: pageSize(options) })
      await printList(out, list.pages(), options, {
        columns,
        none: 'no tenants yet: the first publish or endpoint makes one',
      })
    }),
  )
}
