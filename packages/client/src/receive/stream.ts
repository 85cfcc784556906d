import { concat, defaultMaxBytes, tooLarge } from '../verify/request.ts'

/** A Node.js stream of bytes, as far as it is read here. */
export type ByteStream = AsyncIterable<unknown>

/** Reads a stream to its end. @throws WebhookError `body_too_large` */
export async function readStream(stream: ByteStream, maxBytes = defaultMaxBytes): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return concat(chunks, length)
}
