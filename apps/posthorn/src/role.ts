import type { Config, Log } from '@posthorn/core'
import type { Lifecycle } from './lifecycle.ts'

/** What a role is given. */
export type Launch = {
  config: Config
  /** The folder where the command was typed. */
  folder: string
  /** What is printed for people is printed as JSON. */
  json: boolean
  lifecycle: Lifecycle
  log: Log
}

/** Starts a role; returns when it is ready, or, for one that ends by itself, when it has asked the lifecycle to stop. */
export type RunRole = (launch: Launch) => Promise<void>
