import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { attemptErrors, attemptPhases } from './attempt-error.ts'

const page = readFileSync(new URL('../../../../docs/attempts.md', import.meta.url), 'utf8')

it('each code stands in docs/attempts.md with its meaning, and no other', () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (.*?) +\|/gm)].map(([, code, meaning]) => [code, meaning])
  expect(Object.fromEntries(rows)).toEqual(attemptErrors)
})

it('each phase stands there', () => {
  for (const phase of attemptPhases) expect(page).toContain(`\`${phase}\``)
})
