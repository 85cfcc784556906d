import type { z } from 'zod'
import { ConfigError } from './config-error.ts'

/**
 * Reads what an environment has of these settings. An empty value counts as unset.
 * @throws ConfigError with one line about the first that is wrong
 */
export function givenIn<S extends z.ZodObject>(
  env: Readonly<Record<string, string | undefined>>,
  schema: S,
): z.output<S> {
  const given: Record<string, string> = {}
  for (const name of Object.keys(schema.shape)) {
    const value = env[name]
    if (value !== undefined && value !== '') given[name] = value
  }
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  throw new ConfigError(`${issue.path.join('.')} ${issue.message}`)
}
