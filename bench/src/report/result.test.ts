import { expect, test } from 'vitest'
import type { Run, Target } from '../scenario.ts'
import { judge } from './result.ts'

const run = (value: number, ratio: number | null, metrics: Record<string, number> = {}): Run => ({
  value,
  ratio,
  metrics,
  details: { deliveries: value },
})
const ratioTarget: Target = { metric: 'ratio', is: 'least', value: 0.35, label: '0.35 of raw' }

test('medians are judged, and the details are of the run in the middle', () => {
  const verdict = judge({ targets: [ratioTarget] }, [run(9_000, 0.3), run(11_000, 0.4), run(10_000, 0.36)])
  expect(verdict).toEqual({
    value: 10_000,
    ratio: 0.36,
    target: [{ metric: 'ratio', is: 'least', value: 0.35, reached: 0.36, pass: true }],
    pass: true,
    spread: 0.2,
    details: { deliveries: 10_000 },
    values: [9_000, 11_000, 10_000],
    ratios: [0.3, 0.4, 0.36],
  })
})

test('one target missed is a target missed', () => {
  const targets: Target[] = [
    { metric: 'p50_ms', is: 'below', value: 15, label: '' },
    { metric: 'p99_ms', is: 'below', value: 100, label: '' },
  ]
  expect(judge({ targets }, [run(4, null, { p50_ms: 4, p99_ms: 100 })])).toMatchObject({
    ratio: null,
    pass: false,
    target: [{ pass: true }, { pass: false, reached: 100 }],
  })
})

test('a metric that was not measured reaches nothing', () => {
  expect(judge({ targets: [{ metric: 'p50_ms', is: 'below', value: 15, label: '' }] }, [run(4, null)]).pass).toBe(false)
})

test('without a target there is no verdict', () => {
  expect(judge({ targets: [] }, [run(30_000, null)]).pass).toBeNull()
})
