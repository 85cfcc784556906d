/** A setting that is wrong. Its message is one line that names the setting, and never holds a secret. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}
