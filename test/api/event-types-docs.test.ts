import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type ApiUnderTest, operatorToken, startApiUnderTest } from './api-under-test.ts'

let api: ApiUnderTest
beforeAll(async () => {
  api = await startApiUnderTest()
})
afterAll(() => api.stop())

const page = new URL('../../docs/event-types.md', import.meta.url)

/** The page's commands, each with the JSON that is shown behind it: in it stands what the answer has at least. */
async function readBlocks(): Promise<{ commands: string; shown: object }[]> {
  const text = await readFile(page, 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```\n+```json\n([\s\S]*?)^```/gm)]
  expect(blocks).toHaveLength([...text.matchAll(/^```sh$/gm)].length)
  return blocks.map(([, commands = '', shown = '']) => ({ commands, shown: JSON.parse(shown) }))
}

test('every command of the page on event types answers what is shown behind it', async () => {
  const blocks = await readBlocks()
  expect(blocks.length).toBeGreaterThan(1)
  const env = { ...process.env, H: `authorization: Bearer ${operatorToken}`, J: 'content-type: application/json' }
  const folder = await mkdtemp(join(tmpdir(), 'posthorn-docs-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  let before = `curl() { command curl -s "$@"; }\n`
  for (const { commands, shown } of blocks) {
    const script = commands.replaceAll('http://127.0.0.1:8080', api.url)
    const { stdout } = await promisify(execFile)('sh', ['-ec', `${before}${script}`], { env, cwd: folder })
    expect(JSON.parse(stdout), commands).toMatchObject(shown)
    // What a block names is there for those that follow.
    before += `${script.match(/^export .*$/gm)?.join('\n') ?? ''}\n`
  }
})
