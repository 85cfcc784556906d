import { decodeDoorbell, doorbellChannel, type Log } from '@posthorn/core'
import { createClient } from '@posthorn/core/db'

/** Listens for lanes that have new work. A saving of time only: the sweep finds all by itself. */
export type Doorbell = { stop(): Promise<void> }

const firstPauseMs = 200
const longestPauseMs = 10_000

export function startDoorbell(deps: {
  /** A connection that bypasses a pooler in transaction mode. */
  url: string
  log: Log
  onRing: (endpointIds: readonly string[]) => void
  /** Listening (again): what was rung meanwhile was not heard. */
  onListening: () => void
}): Doorbell {
  const { url, log } = deps
  let client: ReturnType<typeof createClient> | null = null
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let pauseMs = firstPauseMs

  function again(error: Error): void {
    if (stopped || timer !== undefined) return
    if (pauseMs === firstPauseMs)
      log.warn({ err: error }, 'the doorbell is out of order; sweeps find the work meanwhile')
    timer = setTimeout(() => {
      timer = undefined
      void listen()
    }, pauseMs)
    pauseMs = Math.min(longestPauseMs, pauseMs * 2)
  }

  async function listen(): Promise<void> {
    const mine = createClient(url, 'posthorn doorbell')
    client = mine
    mine.on('notification', (message) => deps.onRing(decodeDoorbell(message.payload ?? '')))
    mine.on('error', again)
    mine.on('end', () => again(new Error('the connection ended')))
    try {
      await mine.connect()
      await mine.query(`listen ${doorbellChannel}`)
      pauseMs = firstPauseMs
      deps.onListening()
    } catch (error) {
      await mine.end().catch(() => {})
      again(error as Error)
    }
  }

  void listen()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}
