import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { generate, readContract } from './contract.ts'

/*
 * `pnpm generate:client` writes the client's types and routes from the contract. `pnpm check` runs it with `--check`: it writes
 * nothing, and fails when they are not those of the contract, or when an operation has no method in the client.
 */
const folder = new URL('../../packages/client/src/generated/', import.meta.url)
const resources = new URL('../../packages/client/src/resources/', import.meta.url)
const checking = process.argv.includes('--check')

const contract = await readContract()
let failed = false
await mkdir(folder, { recursive: true })
for (const [name, text] of Object.entries(await generate(contract))) {
  const file = new URL(name, folder)
  if (!checking) await writeFile(file, text)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    failed = true
    console.error(`${fileURLToPath(file)} is not that of the contract: run \`pnpm generate:client\``)
  }
}

const names = await readdir(resources)
const sources = (await Promise.all(names.map((name) => readFile(new URL(name, resources), 'utf8')))).join('\n')
for (const operations of Object.values(contract.paths)) {
  for (const { operationId } of Object.values(operations)) {
    if (sources.includes(`'${operationId}'`)) continue
    failed = true
    console.error(`No method of the client calls ${operationId}: add one to a file in packages/client/src/resources/`)
  }
}
if (failed) process.exit(1)
