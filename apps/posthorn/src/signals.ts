/** The signals that ask for an end, and their numbers. */
export const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

export type StopSignal = keyof typeof signals
