import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'

/*
 * Unit tests stand beside the pure code they test. All others are in test/, and run against the real thing: a Postgres, a
 * socket, processes. The groups run one after another. In a group files run side by side, each with a database of its own:
 * many wait for clocks and processes, so there is one more of them than there are cores. What counts milliseconds under load
 * stands in the last group, alone.
 */
const postgres15 = '/usr/lib/postgresql/15/bin/postgres'
const with15 = existsSync(postgres15)
if (!with15) {
  console.warn(
    `SKIPPED: the SQL tests do not run on Postgres 15 here, for there is no ${postgres15} (apt: postgresql-15)`,
  )
}
/** The SQL whose outcome may differ from one version of Postgres to the next, and not what is arithmetic of ours. */
const sqlByVersion =
  '{claim,delivery,drain,expire,migrate,order,partitions,plans,promote,publish,reclaim,recover,schema,session,settle,sweep}'
const fair = 'test/e2e/fair-*.test.ts'

const sideBySide = Math.min(availableParallelism(), 5) + 1

type Project = {
  name: string
  include: string[]
  exclude?: string[]
  group: number
  /** A file at a time. */
  alone?: boolean
  database?: boolean
  /**
   * Files in one process after another, with the modules that another has loaded: a start takes as much as most files. For
   * files that end what they start.
   */
  shared?: boolean
  timeoutMs?: number
}

function project({
  name,
  include,
  exclude = [],
  group,
  alone = false,
  database = true,
  shared = false,
  timeoutMs = 20_000,
}: Project) {
  return {
    extends: true as const,
    test: {
      name,
      include,
      exclude: [...configDefaults.exclude, ...exclude],
      pool: 'forks' as const,
      environment: 'node',
      isolate: !shared,
      maxWorkers: alone ? 1 : sideBySide,
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
        shared: true,
      }),
      project({ name: 'sql', include: ['test/sql/**/*.test.ts'], group: 0, shared: true, timeoutMs: 60_000 }),
      ...(with15
        ? [
            project({
              name: 'sql-15',
              include: [`test/sql/${sqlByVersion}*.test.ts`],
              group: 0,
              shared: true,
              timeoutMs: 60_000,
            }),
          ]
        : []),
      project({ name: 'api', include: ['test/api/**/*.test.ts'], group: 0, shared: true }),
      project({ name: 'client', include: ['test/client/**/*.test.ts'], group: 0, timeoutMs: 60_000 }),
      project({ name: 'sender', include: ['test/sender/**/*.test.ts'], group: 0, database: false }),
      project({
        name: 'embedded',
        include: ['test/embedded/**/*.test.ts'],
        group: 0,
        database: false,
        timeoutMs: 60_000,
      }),
      project({
        name: 'e2e',
        include: ['test/e2e/**/*.test.ts'],
        exclude: [fair],
        group: 1,
        timeoutMs: 120_000,
      }),
      project({ name: 'chaos', include: ['test/chaos/**/*.test.ts'], group: 1, timeoutMs: 180_000 }),
      project({ name: 'fair', include: [fair], group: 2, alone: true, timeoutMs: 120_000 }),
      // Builds the image and runs all of docker-compose.yml: only where it is asked for.
      ...(process.env['POSTHORN_TEST_IMAGES']
        ? [
            project({
              name: 'images',
              include: ['test/images/**/*.test.ts'],
              group: 3,
              alone: true,
              database: false,
              timeoutMs: 600_000,
            }),
          ]
        : []),
    ],
  },
})
