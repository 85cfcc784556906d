import type { TestProject } from 'vitest/node'
import { type SharedServer, startLocal, startSharedServer } from './shared-server.ts'
import { createTemplate, dropDatabases, type Template } from './template.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    adminUrl: string
    template: Template
  }
}

type Shared = { server: SharedServer; template: Template }
type Holder = { shared: Promise<Shared>; users: number }

/*
 * Vitest sets up each project on its own, in modules of its own: what they share must hang on something that is one in the
 * process. The last project to end stops the server.
 */
const one = globalThis as { posthornTestServers?: Map<string, Holder> }
one.posthornTestServers ??= new Map()
const holders = one.posthornTestServers

/** Starts the servers that the test files share, migrates the template, and tells the test files where they are. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const key = project.name.endsWith('-15') ? '15' : 'default'
  const holder = holders.get(key) ?? { shared: start(key), users: 0 }
  holders.set(key, holder)
  holder.users += 1
  const { server, template } = await holder.shared
  project.provide('adminUrl', server.adminUrl)
  project.provide('template', template)
  return async () => {
    holder.users -= 1
    if (holder.users > 0) return
    holders.delete(key)
    await dropDatabases(server.adminUrl, template)
    await server.stop()
  }
}

// A closed terminal would end us before the servers; vitest itself sees to the other signals.
process.once('SIGHUP', () => process.exit(129))

async function start(key: '15' | 'default'): Promise<Shared> {
  const server = key === '15' ? await startLocal('15') : await startSharedServer()
  console.log(`tests run on ${server.name}`)
  try {
    return { server, template: await createTemplate(server.adminUrl) }
  } catch (error) {
    await server.stop()
    throw error
  }
}
