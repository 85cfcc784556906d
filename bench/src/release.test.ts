import { expect, test } from 'vitest'
import { releaseRuns } from './release.ts'
import { scenarios } from './scenarios/index.ts'

test('a release is measured with scenarios that there are, each once', () => {
  const names = releaseRuns.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
  expect(scenarios.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
})
