import type { Context } from 'hono'
import { ApiProblem } from './api-problem.ts'

// JSON is UTF-8 (RFC 8259), and a charset that says otherwise is not believed silently.
const jsonType = /^application\/json[\t ]*(?:;[\t ]*charset[\t ]*=[\t ]*"?utf-8"?[\t ]*)?;?$/i

export function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && jsonType.test(contentType.trim())
}

/** Our own 415: the framework skips the validation of a body whose type is missing. @throws ApiProblem 415 */
export function requireJson(c: Context): void {
  if (!isJson(c.req.header('content-type'))) throw new ApiProblem('unsupported_media_type')
}
