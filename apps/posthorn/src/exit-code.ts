/** What a command's end tells the shell. docs/cli.md lists them for users; a test holds the two together. */
export const exitCodes = {
  done: 0,
  failed: 1,
  wrongUsage: 2,
  unreachable: 3,
  refused: 4,
  notFound: 5,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]
