import { expect, test } from 'vitest'
import { parseOptions, UsageError } from './options.ts'

const known = ['raw', 'drain-10']

test('without arguments the defaults hold', () => {
  expect(parseOptions([], known)).toEqual({
    scenarios: [],
    all: false,
    list: false,
    help: false,
    json: false,
    save: false,
    release: false,
    plot: false,
    profile: false,
    runs: 1,
    seconds: null,
    deliveries: 50_000,
    rate: null,
  })
})

test('scenarios and flags stand in any order, also after the two dashes that pnpm hands on', () => {
  const options = parseOptions(['--', 'drain-10', '--json', '--runs', '3', 'raw', '--deliveries=200_000'], known)
  expect(options).toMatchObject({ scenarios: ['drain-10', 'raw'], json: true, runs: 3, deliveries: 200_000 })
})

test('a scenario named twice runs once', () => {
  expect(parseOptions(['raw', 'raw'], known).scenarios).toEqual(['raw'])
})

test.each([
  [['drian-10'], 'there is no scenario "drian-10": there are raw, drain-10'],
  [['--sconds', '3'], "Unknown option '--sconds'"],
  [['--runs', '0'], '--runs must be a whole number from 1 to 100, not "0"'],
  [['--seconds', '1.5'], '--seconds must be a whole number from 1 to 600, not "1.5"'],
  [['--deliveries', '-5'], /--deliveries/],
  [['--rate', 'fast'], /--rate must be/],
  [['--all', 'raw'], /name none/],
  [['--release', '--seconds', '5'], '--release has its own sizes: give no --seconds'],
])('%j is refused in one line', (argv, message) => {
  expect(() => parseOptions(argv as string[], known)).toThrow(UsageError)
  expect(() => parseOptions(argv as string[], known)).toThrow(message as string)
})
