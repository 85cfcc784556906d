import { createPool, type Pool } from '@posthorn/core/db'

export type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Loops'?: number
  'Actual Rows'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: PlanNode[]
}

export type Captured = {
  pool: Pool
  /** Every statement since the last call, with the plan that it was really run by. */
  take(): Promise<{ text: string; nodes: PlanNode[] }[]>
  close(): Promise<void>
}

/** A pool whose sessions tell the plan of each statement as it ran (auto_explain), under these settings. */
export function createCapture(
  url: string,
  settings: Record<string, string> = {},
  { indexesOnly = false }: { indexesOnly?: boolean } = {},
): Captured {
  const all: Record<string, string> = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    client_min_messages: 'log',
    ...settings,
  }
  const connectionString = new URL(url)
  const options = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`)
  connectionString.searchParams.set('options', options.join(' '))
  const pool = createPool({
    connectionString: connectionString.href,
    max: 1,
    indexesOnly,
    applicationName: 'test plans',
    onError: () => {},
  })
  let plans: { text: string; nodes: PlanNode[] }[] = []
  pool.on('connect', (client) => {
    client.on('notice', ({ message = '' }) => {
      const at = message.indexOf('{')
      if (!message.startsWith('duration:') || at < 0) return
      const plan = JSON.parse(message.slice(at)) as { 'Query Text': string; Plan: PlanNode }
      plans.push({ text: plan['Query Text'], nodes: flat(plan.Plan) })
    })
  })
  return {
    pool,
    async take() {
      // Notices come before the answer of the statement that they are about.
      await pool.query('show server_version')
      const taken = plans
      plans = []
      return taken
    },
    close: () => pool.end(),
  }
}

function flat(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flat)]
}
