import { readFile, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/*
 * What is published: JavaScript for Node 20 and web-standard runtimes, with p-retry in it, so that the package needs nothing
 * else. One file for each entry of `exports`; the compiler writes the types beside them.
 */
const folder = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(await readFile(`${folder}/package.json`, 'utf8')) as { exports: Record<string, string> }
const entries = Object.values(manifest.exports)

await rm(`${folder}/dist`, { recursive: true, force: true })
const bundle = await rolldown({
  cwd: folder,
  platform: 'neutral',
  external: [/^node:/],
  resolve: { mainFields: ['module', 'main'] },
  input: Object.fromEntries(entries.map((file) => [file.slice('./src/'.length, -'.ts'.length), file])),
})
await bundle.write({ dir: `${folder}/dist`, format: 'esm', chunkFileNames: 'shared/[name]-[hash].js' })
await bundle.close()
