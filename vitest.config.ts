import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

/*
 * Unit tests stand beside the pure code they test. All others are in test/, and run against the real thing: a Postgres, a
 * socket, processes. The groups run one after another: what counts processes and milliseconds needs the machine to itself.
 */
const postgres15 = '/usr/lib/postgresql/15/bin/postgres'
const with15 = existsSync(postgres15)
if (!with15) {
  console.warn(
    `SKIPPED: the SQL tests do not run on Postgres 15 here, for there is no ${postgres15} (apt: postgresql-15)`,
  )
}

type Project = {
  name: string
  include: string[]
  group: number
  serial?: boolean
  database?: boolean
  timeoutMs?: number
}

function project({ name, include, group, serial = false, database = true, timeoutMs = 20_000 }: Project) {
  return {
    extends: true as const,
    test: {
      name,
      include,
      pool: 'forks' as const,
      environment: 'node',
      fileParallelism: !serial,
      sequence: { groupOrder: group },
      testTimeout: timeoutMs,
      hookTimeout: Math.max(timeoutMs, 60_000),
      globalSetup: database ? ['test/support/global-setup.ts'] : [],
    },
  }
}

export default defineConfig({
  test: {
    projects: [
      project({
        name: 'unit',
        include: ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts', 'bench/src/**/*.test.ts'],
        group: 0,
        database: false,
      }),
      project({ name: 'sql', include: ['test/sql/**/*.test.ts'], group: 1, timeoutMs: 60_000 }),
      ...(with15 ? [project({ name: 'sql-15', include: ['test/sql/**/*.test.ts'], group: 2, timeoutMs: 60_000 })] : []),
      project({ name: 'api', include: ['test/api/**/*.test.ts'], group: 3 }),
      project({ name: 'sender', include: ['test/sender/**/*.test.ts'], group: 4, database: false }),
      project({
        name: 'embedded',
        include: ['test/embedded/**/*.test.ts'],
        group: 5,
        serial: true,
        database: false,
        timeoutMs: 60_000,
      }),
      project({ name: 'e2e', include: ['test/e2e/**/*.test.ts'], group: 6, serial: true, timeoutMs: 120_000 }),
      project({ name: 'chaos', include: ['test/chaos/**/*.test.ts'], group: 7, serial: true, timeoutMs: 180_000 }),
    ],
  },
})
