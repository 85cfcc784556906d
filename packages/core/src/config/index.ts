export type { AllowedTarget } from './allowed-target.ts'
export { type Config, type ConfigDefaults, parseConfig, type Role } from './config.ts'
export { ConfigError } from './config-error.ts'
export { parseDuration } from './duration.ts'
