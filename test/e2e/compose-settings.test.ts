import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { settings } from '../../packages/core/src/config/settings.ts'

const read = (name: string): Promise<string> =>
  readFile(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8')

/** What the image sets, and what has no meaning in a container. */
const ofTheImage = ['POSTHORN_HOST', 'POSTHORN_PORT', 'POSTHORN_HEALTH_PORT', 'POSTHORN_DATA_DIR']

test('each setting can be given to the containers', async () => {
  const compose = await read('docker-compose.yml')
  const given = new Set([...compose.matchAll(/^ +(POSTHORN_\w+):/gm)].map((match) => match[1]))
  for (const name of Object.keys(settings.shape)) if (!ofTheImage.includes(name)) expect(given).toContain(name)
})

test('the example names each of them, and the README explains it', async () => {
  const [example, readme] = [await read('.env.example'), await read('README.md')]
  for (const name of Object.keys(settings.shape)) {
    expect(readme).toMatch(new RegExp(`^\\|.*\`${name}\`.*\\|.*\\|$`, 'm'))
    if (!ofTheImage.includes(name) && name !== 'POSTHORN_DATABASE_URL') {
      expect(example).toMatch(new RegExp(`^#?${name}=`, 'm'))
    }
  }
})
