/** The folder where the command was typed: pnpm runs scripts elsewhere. */
export function typedIn(): string {
  return process.env['INIT_CWD'] || process.cwd()
}
