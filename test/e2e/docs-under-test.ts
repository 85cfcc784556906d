import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type SpawnedProcess, spawnCommand } from '../support/processes.ts'
import { inFolder, type Started } from './start-under-test.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const main = join(root, 'apps/posthorn/src/main.ts')

/** A fenced block with a language: one without shows what is printed, or a drawing. */
export type Block = { page: string; heading: string; language: string; text: string }

/** Every page that users read. */
export function pages(): string[] {
  const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  return ['README.md', 'packages/client/README.md', ...docs.map((name) => `docs/${name}`)]
}

/** The blocks of a page, in order, each with the heading that it stands under. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks: Block[] = []
  let heading = ''
  for (const [, title, indent = '', language = '', body = ''] of text.matchAll(
    /^#+ (.+)$|^( *)```(\w*)\n([\s\S]*?)^ *```$/gm,
  )) {
    if (title !== undefined) heading = title
    else if (language !== '')
      blocks.push({ page, heading, language, text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') })
  }
  return blocks
}

/**
 * A shell in a folder, as a reader has it beside a running start: what is pasted is run as it stands, but that ports are the
 * start's, and `npx` runs what a clone has installed.
 */
export function openShell(folder: string, start: Started, ports: Record<string, string> = {}) {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(
    join(bin, 'npx'),
    `#!/bin/sh\nwhile [ "$1" = -y ] || [ "$1" = posthorn ] || [ "$1" = pnpm@12 ]; do shift; done\nexec '${process.execPath}' '${main}' "$@"\n`,
  )
  // A command that is answered with an error has failed.
  writeFileSync(
    join(bin, 'curl'),
    `#!/bin/sh\nPATH=\${PATH#*:} curl --silent --show-error --fail-with-body "$@" && echo\n`,
  )
  for (const name of ['npx', 'curl']) chmodSync(join(bin, name), 0o755)
  const replaced = {
    '127.0.0.1:8080': new URL(start.apiUrl).host,
    '127.0.0.1:8081': `127.0.0.1:${start.samplePort}`,
    ...ports,
  }
  return {
    paste(text: string, env: Record<string, string> = {}): SpawnedProcess {
      let script = text
      for (const [from, to] of Object.entries(replaced)) script = script.replaceAll(from, to)
      const path = { PATH: `${bin}:${process.env['PATH']}`, ...env }
      return spawnCommand('bash', ['--norc', '-euc', script], path, inFolder(folder))
    },
    /** @returns what it printed @throws unless it ends with 0 */
    async run(text: string, env: Record<string, string> = {}): Promise<string> {
      const shell = this.paste(text, env)
      const { code } = await shell.exited
      if (code !== 0) throw new Error(`ended with ${code}:\n${text}\n${shell.output()}`)
      return shell.output()
    },
  }
}
