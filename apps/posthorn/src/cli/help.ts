import { type Command, Option } from 'commander'

/** What is told of a command below its options: how it is used, and what for. */
export function examples(command: Command, pairs: readonly (readonly [line: string, what: string])[]): Command {
  const lines = pairs.map(([line, what]) => `  # ${what}\n  posthorn ${line}`)
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n\n')}\n`)
}

/** The options of every command that calls the API. */
export function callsApi(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', 'the API (default: POSTHORN_URL, else the `start` of this folder)'))
    .addOption(new Option('--api-key <key>', 'a key, phk_... (default: POSTHORN_API_KEY, else the one of `start`)'))
    .addOption(new Option('--data-dir <folder>', 'the data folder of `start` (default: POSTHORN_DATA_DIR, .posthorn)'))
}
