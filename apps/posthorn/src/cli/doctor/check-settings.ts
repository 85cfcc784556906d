import { type Config, ConfigError, parseConfig } from '@posthorn/core'
import { type Check, fail, ok, warn } from './check.ts'

/** What the API and the dispatchers would read from this environment. @returns the settings too, unless one is wrong */
export function checkSettings(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): { config: Config | null; checks: Check[] } {
  try {
    // With a database of one's own a start asks for what an API asks for.
    const config = parseConfig(env, { role: 'start', folder })
    const unknown = config.warnings.map((each) => warn('settings', each, 'correct its name, or unset it'))
    return {
      config,
      checks: unknown.length > 0 ? unknown : [ok('settings', 'every setting of this environment is right')],
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { config: null, checks: [fail('settings', error.message, 'correct it: README.md lists the settings')] }
  }
}
