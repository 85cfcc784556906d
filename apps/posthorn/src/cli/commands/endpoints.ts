import { type Command, Option } from 'commander'
import { exitCodes } from '../../exit-code.ts'
import { jsonObject, listOf } from '../arguments.ts'
import { describeEndpoint, type Endpoint, endpointColumns } from '../endpoint.ts'
import { callsApi, examples } from '../help.ts'
import { isList, type ListOptions, pageSize, printList } from '../lists.ts'
import type { Runner } from '../runner.ts'
import { listOfTenant } from '../tenant.ts'

type AddOptions = {
  types?: string[]
  channels?: string[]
  filter?: NonNullable<Endpoint['filter']>
  uid?: string
  description?: string
  ordering?: 'none' | 'strict' | 'by_key'
}

export function defineEndpoints(program: Command, runner: Runner): void {
  const endpoints = program
    .command('endpoints')
    .summary("lists, adds, shows, tests, pauses or removes a tenant's endpoints")
    .description("Lists a tenant's endpoints, or adds one, shows how it does, tries it, pauses it or removes it.")
  examples(endpoints, [
    ['endpoints acme', "acme's endpoints; the same as `endpoints list acme`"],
    ['endpoints add acme https://example.com/hooks --types "invoice.*"', 'a new one, for events below invoice'],
    ['endpoints show acme ep_01m8kt5xw5ej7bdvsv2r3a8x6c', 'how one does'],
  ])
  defineList(endpoints, runner)
  defineAdd(endpoints, runner)
  defineShow(endpoints, runner)
  defineStatus(endpoints, runner)
  defineTest(endpoints, runner)
  defineRemove(endpoints, runner)
  endpoints.hook('preSubcommand', () => refuseUnknown(endpoints))
}

function namesOf(endpoints: Command): string[] {
  return endpoints.commands.map((command) => command.name())
}

/** A word that is no command is a tenant, behind which only options may stand: more than that was meant for a command. */
function refuseUnknown(endpoints: Command): void {
  const [word = '-', next = '-'] = endpoints.args
  const names = namesOf(endpoints)
  if (names.includes(word) || word.startsWith('-') || next.startsWith('-')) return
  endpoints.error(`error: unknown command 'endpoints ${word}': it is one of ${names.join(', ')}, or a tenant alone`)
}

const theTenant = ['<tenant>', "the tenant's id"] as const
const theEndpoint = ['<endpoint>', "the endpoint's id, ep_..., or its uid"] as const

function defineList(endpoints: Command, { run }: Runner): void {
  const command = endpoints
    .command('list', { isDefault: true })
    .description("Lists a tenant's endpoints, the newest first.")
    .argument(...theTenant)
  examples(isList(callsApi(command)), [
    ['endpoints list acme', "acme's endpoints"],
    ['endpoints list acme --all --json', 'all of them, a JSON object a line'],
  ]).action(
    run(async ({ out, posthorn }, tenant: string, options: ListOptions) => {
      const client = await posthorn()
      const list = client.endpoints.list(tenant, { limit: pageSize(options) })
      const isNamed = endpoints.args[0] === command.name()
      const meant = isNamed ? '' : `. Was one of these commands meant: ${namesOf(endpoints).join(', ')}?`
      const pages = listOfTenant(client, tenant, list.pages(), meant)
      await printList(out, pages, options, { columns: endpointColumns, none: 'no endpoints' })
    }),
  )
}

function defineAdd(endpoints: Command, { run }: Runner): void {
  const command = endpoints
    .command('add')
    .description('Registers an endpoint, and prints its secret, with which its webhooks are signed.')
    .argument(...theTenant)
    .argument('<address>', 'where webhooks are sent: a URL')
    .option('--types <types>', 'events of these types alone: invoice.paid,customer.*', listOf)
    .option('--channels <names>', 'events of these channels alone', listOf)
    .option('--filter <json>', 'events whose payload it takes, as docs/filters.md tells', jsonObject)
    .option('--uid <uid>', 'an id of your own; a second of the same is refused')
    .option('--description <text>', 'for people')
    .addOption(new Option('--ordering <kind>', 'keep the order of events').choices(['none', 'strict', 'by_key']))
  examples(callsApi(command), [
    ['endpoints add acme http://127.0.0.1:8081/ --uid main', 'the sample receiver of `start`, by a name of your own'],
    ['endpoints add acme https://example.com/hooks --types "invoice.*,customer.made"', 'for events of some types'],
  ]).action(
    run(async ({ out, posthorn }, tenant: string, url: string, options: AddOptions) => {
      const { types, ...rest } = options
      const { channels, filter, uid, description, ordering } = rest
      const endpoint = await (await posthorn()).endpoints.create(tenant, {
        url,
        ...(types && { event_types: types }),
        ...(channels && { channels }),
        ...(filter && { filter }),
        ...(uid !== undefined && { uid }),
        ...(description !== undefined && { description }),
        ...(ordering && { ordering }),
      })
      out.item(endpoint, () => `${endpoint.id}\nsecret ${endpoint.secret}`)
    }),
  )
}

function defineShow(endpoints: Command, { run }: Runner): void {
  const command = endpoints
    .command('show')
    .description(
      'Shows an endpoint: its settings, how its attempts went in the last day, what it is owed, and its lane.',
    )
    .argument(...theTenant)
    .argument(...theEndpoint)
  examples(callsApi(command), [
    ['endpoints show acme main', 'the endpoint whose uid is main'],
    ['endpoints show acme main --json', 'all the API knows of it'],
  ]).action(
    run(async ({ out, posthorn }, tenant: string, name: string) => {
      const client = await posthorn()
      const [endpoint, stats] = await Promise.all([
        client.endpoints.get(tenant, name),
        client.endpoints.stats(tenant, name),
      ])
      out.item({ ...endpoint, stats }, () => describeEndpoint(endpoint, stats, out))
    }),
  )
}

const changes = [
  [
    'enable',
    'enabled',
    'Enables an endpoint: what is published from now on is owed to it. What it missed, `recover` owes again.',
  ],
  ['pause', 'paused', 'Pauses an endpoint: what is owed to it waits.'],
  ['disable', 'disabled', 'Disables an endpoint: nothing new is owed to it, and what was owed is canceled.'],
] as const

function defineStatus(endpoints: Command, { run }: Runner): void {
  for (const [verb, status, about] of changes) {
    const command = endpoints
      .command(verb)
      .description(about)
      .argument(...theTenant)
      .argument(...theEndpoint)
    examples(callsApi(command), [
      [`endpoints ${verb} acme main`, 'the endpoint whose uid is main'],
      [`endpoints ${verb} acme ep_01m8kt5xw5ej7bdvsv2r3a8x6c --json`, 'by its id; the endpoint as it is now'],
    ]).action(
      run(async ({ out, posthorn }, tenant: string, name: string) => {
        const endpoint = await (await posthorn()).endpoints.update(tenant, name, { status })
        out.item(endpoint, () => `${endpoint.id} is ${endpoint.status}`)
      }),
    )
  }
}

function defineTest(endpoints: Command, { run }: Runner): void {
  const command = endpoints
    .command('test')
    .description('Sends an endpoint a test event, and waits for its first attempt. Exit code 1 unless it succeeds.')
    .argument(...theTenant)
    .argument(...theEndpoint)
  examples(callsApi(command), [
    ['endpoints test acme main', 'does it answer?'],
    ['endpoints test acme main --json', 'the whole attempt'],
  ]).action(
    run(async ({ out, posthorn }, tenant: string, name: string) => {
      const result = await (await posthorn()).endpoints.test(tenant, name)
      if (!('outcome' in result)) {
        out.item(
          result,
          () => `not attempted within 30 s (${result.state}): does a dispatcher run? \`posthorn doctor\` looks`,
        )
        return exitCodes.failed
      }
      const answer = result.response
        ? `answered ${result.response.status}`
        : (result.error?.message ?? result.error?.code)
      out.item(result, () => `${result.outcome}: ${answer} after ${result.duration_ms} ms`)
      return result.outcome === 'succeeded' ? exitCodes.done : exitCodes.failed
    }),
  )
}

function defineRemove(endpoints: Command, { run }: Runner): void {
  const command = endpoints
    .command('remove')
    .description('Removes an endpoint. What was owed to it is canceled; its history stays listed.')
    .argument(...theTenant)
    .argument(...theEndpoint)
  examples(callsApi(command), [
    ['endpoints remove acme main', 'the endpoint whose uid is main'],
    ['endpoints remove acme ep_01m8kt5xw5ej7bdvsv2r3a8x6c', 'by its id'],
  ]).action(
    run(async ({ out, posthorn }, tenant: string, name: string) => {
      await (await posthorn()).endpoints.delete(tenant, name)
      out.item({ removed: name }, () => `removed ${name}`)
    }),
  )
}
