import { createReadStream, fstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { readBounded } from '../read-bounded.ts'
import { UsageError } from './usage-error.ts'

/** As much as any Posthorn takes. */
const maxBytes = 16 * 1024 * 1024

type Where = { given: string | undefined; file: string | undefined; folder: string }

/**
 * The payload's text, whose UTF-8 is what was given, byte for byte. What is no UTF-8 is refused rather than mended.
 * @throws UsageError that says where it is looked for
 */
export async function readPayload({ given, file, folder }: Where): Promise<string> {
  if (given !== undefined && file !== undefined) {
    throw new UsageError('the payload is given twice: as an argument, or with --file, and not both')
  }
  if (file !== undefined) {
    return textOf(await readAll(createReadStream(resolve(folder, file)), file), file)
  }
  if (given === '-' || (given === undefined && isPiped())) return textOf(await readAll(process.stdin, 'stdin'), 'stdin')
  if (given !== undefined) return given
  throw new UsageError(`no payload: give it as an argument ('{"id":1}'), with --file, or on stdin (-)`)
}

/** A pipe or a file, and no terminal and no /dev/null. */
function isPiped(): boolean {
  try {
    const stat = fstatSync(0)
    return stat.isFIFO() || stat.isFile() || stat.isSocket()
  } catch {
    return false
  }
}

async function readAll(stream: AsyncIterable<Buffer>, what: string): Promise<Buffer> {
  const bytes = await readBounded(stream, maxBytes).catch((error: Error) => {
    throw new UsageError(`${what} cannot be read: ${error.message}`)
  })
  if (bytes === null) throw new UsageError(`${what} is longer than 16 MiB, the most that any Posthorn takes`)
  return bytes
}

function textOf(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UsageError(`${what} is not UTF-8: a payload is JSON text`)
  }
}
