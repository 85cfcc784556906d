import { publish } from '@posthorn/client'
import { libraries } from './libraries.ts'

/*
 * With every library: publishes and commits, then publishes in a second transaction and says so while it is open. Waits to be
 * killed.
 */
const url = process.argv[2]!
let open = 0
for (const [name, connect] of Object.entries(libraries)) {
  const connected = await connect(url)
  await connected.transact((tx) => publish(tx, 'crash', { type: 'committed', payload: name }))
  const held = connected.transact(async (tx) => {
    await publish(tx, 'crash', { type: 'open', payload: name })
    open += 1
    if (open === Object.keys(libraries).length) process.stdout.write('all open\n')
    await new Promise(() => setInterval(() => {}, 60_000))
  })
  held.catch((error: unknown) => {
    process.stderr.write(`${name}: ${String(error)}\n`)
    process.exit(1)
  })
}
