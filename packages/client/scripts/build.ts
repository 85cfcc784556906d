import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/*
 * What is published, in dist/: JavaScript for Node 20 and web-standard runtimes, one file for each entry of `exports`, and a
 * manifest of its own. p-retry is in it, so that the package needs nothing else. The compiler writes the types beside it.
 */
type Manifest = Record<string, unknown> & { exports: Record<string, string> }

const folder = fileURLToPath(new URL('..', import.meta.url))
const dist = `${folder}dist`
const { exports: entries, ...rest } = JSON.parse(await readFile(`${folder}package.json`, 'utf8')) as Manifest

/** `./src/receive/hono.ts` → `receive/hono` */
const nameOf = (source: string): string => source.slice('./src/'.length, -'.ts'.length)
const sources = Object.values(entries)

await rm(dist, { recursive: true, force: true })
await mkdir(dist)
const bundle = await rolldown({
  cwd: folder,
  platform: 'neutral',
  external: [/^node:/],
  resolve: { mainFields: ['module', 'main'] },
  input: Object.fromEntries(sources.map((source) => [nameOf(source), source])),
})
await bundle.write({ dir: dist, format: 'esm', chunkFileNames: 'shared/[name]-[hash].js' })
await bundle.close()

const published = Object.entries(entries).map(([path, source]) => {
  const name = nameOf(source)
  return [path, { types: `./${name}.d.ts`, default: `./${name}.js` }]
})
const { scripts: _scripts, dependencies: _bundled, devDependencies: _tools, publishConfig: _config, ...kept } = rest
const manifest = { ...kept, exports: Object.fromEntries(published) as object }
await writeFile(`${dist}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`)
await copyFile(`${folder}README.md`, `${dist}/README.md`)
// p-retry and is-network-error, which it needs, are of one author and under one licence.
const licences = [`${folder}../../LICENSE`, `${folder}node_modules/p-retry/license`].map((file) =>
  readFile(file, 'utf8'),
)
await writeFile(`${dist}/LICENSE`, (await Promise.all(licences)).join('\n---\n\np-retry and is-network-error:\n\n'))
