import { expect, test } from 'vitest'
import { drawLines } from './line-plot.ts'

const textsOf = (svg: string): string[] => [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text!)
const pointsOf = (svg: string): number[][][] =>
  [...svg.matchAll(/points="([^"]*)"/g)].map(([, points]) =>
    points!.split(' ').map((place) => place.split(',').map(Number)),
  )

test('axes are labelled, from zero up to above the highest value, and by decades where they are logarithmic', () => {
  const svg = drawLines({
    title: 'Deliveries < endpoints',
    x: { label: 'endpoints', log: true },
    y: { label: 'deliveries a second' },
    lines: [
      {
        name: 'all',
        points: [
          [10, 9_800],
          [10_000, 4_900],
        ],
      },
    ],
  })
  expect(textsOf(svg)).toEqual([
    'Deliveries &lt; endpoints',
    ...['0', '2,000', '4,000', '6,000', '8,000', '10,000'],
    ...['10', '100', '1,000', '10,000'],
    'endpoints',
    'deliveries a second',
  ])
  const [[first, last]] = pointsOf(svg) as [[[number, number], [number, number]]]
  // From the left edge of the area to the right one; half of the value stands half as high above zero, at 322.
  expect([first[0], last[0]]).toEqual([78, 674])
  expect(322 - last[1]).toBeCloseTo((322 - first[1]) / 2, 0)
})

test('several lines are named, each with a colour of its own', () => {
  const svg = drawLines({
    title: 'Held',
    x: { label: 's' },
    y: { label: 'a second' },
    lines: [
      { name: 'without', points: [[0, 1]] },
      { name: 'reading', points: [[120, 2]] },
    ],
  })
  expect(textsOf(svg)).toEqual(expect.arrayContaining(['without', 'reading']))
  expect(svg).toContain('class="line l0" points=')
  expect(svg).toContain('class="line l1" points=')
})
