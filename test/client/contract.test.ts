import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { generate, readContract } from './contract.ts'

const source = new URL('../../packages/client/src/', import.meta.url)

test("the client's types and routes are those of the contract: `pnpm generate:client` makes them", async () => {
  for (const [name, text] of Object.entries(await generate(await readContract()))) {
    expect((await readFile(new URL(`generated/${name}`, source), 'utf8')) === text, name).toBe(true)
  }
})

test('every operation of the contract has a method', async () => {
  const { paths } = await readContract()
  const names = await readdir(new URL('resources/', source))
  const sources = await Promise.all(names.map((name) => readFile(new URL(`resources/${name}`, source), 'utf8')))
  const called = new Set(
    sources.flatMap((text) => [...text.matchAll(/'([a-z]+[A-Z][A-Za-z]+)'/g)].map((match) => match[1])),
  )
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  expect(operations.map(({ operationId }) => operationId).filter((id) => !called.has(id))).toEqual([])
})
