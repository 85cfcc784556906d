import { relative } from 'node:path'
import { reachable } from './reachable.ts'

export type Banner = {
  version: string
  /** Seconds since the process began. */
  seconds: number
  dataDir: string
  /** Where the command was typed: paths are shown from there. */
  folder: string
  host: string
  port: number
  /** Null where none could be started. */
  samplePort: number | null
  /** The file with the operator's token; null when it is in POSTHORN_API_KEY. */
  tokenPath: string | null
  /** The token, at the start that made it. */
  newToken: string | null
}

/** What a start prints when it is ready. Each command under "Try" works when pasted into a shell in the same folder. */
export function writeBanner(banner: Banner): string {
  const path = (absolute: string): string => shownPath(banner.folder, absolute)
  const api = `http://${reachable(banner.host)}:${banner.port}`
  const sample = banner.samplePort === null ? null : `http://127.0.0.1:${banner.samplePort}`
  const token = banner.tokenPath === null ? '$POSTHORN_API_KEY' : `$(cat ${quoted(path(banner.tokenPath))})`
  const lines = [
    `Posthorn ${banner.version} · ready in ${banner.seconds.toFixed(1)} s · data ${path(banner.dataDir)}`,
    `API ${api} (docs at /docs)${sample === null ? '' : ` · sample receiver ${sample}`}`,
  ]
  if (banner.newToken !== null && banner.tokenPath !== null) {
    lines.push(`Operator token in ${path(banner.tokenPath)} (shown once: ${banner.newToken})`)
  }
  if (sample !== null) {
    lines.push(
      'Try:',
      `  export T=${api}/v1/tenants/acme H="authorization: Bearer ${token}" J="content-type: application/json"`,
      `  curl -H "$H" -H "$J" $T/endpoints -d '{"uid":"main","url":"${sample}/"}'`,
      `  curl -H "$H" -H "$J" $T/events -d '{"type":"invoice.paid","payload":{"total":99.50}}'`,
      '  curl -H "$H" "$T/deliveries?limit=1"',
    )
  }
  return lines.join('\n')
}

/** The same for a program to read: one document. */
export function bannerAsJson({ version, seconds, dataDir, host, port, samplePort, tokenPath, newToken }: Banner) {
  return {
    version,
    ready_seconds: Math.round(seconds * 10) / 10,
    data_dir: dataDir,
    api_url: `http://${reachable(host)}:${port}`,
    sample_receiver_url: samplePort === null ? null : `http://127.0.0.1:${samplePort}`,
    token_path: tokenPath,
    new_token: newToken,
  }
}

function shownPath(folder: string, absolute: string): string {
  const path = relative(folder, absolute)
  if (path === '') return '.'
  if (path.startsWith('..')) return absolute
  return path.startsWith('-') ? `./${path}` : path
}

function quoted(path: string): string {
  return /^[A-Za-z0-9_./:@%+,=-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
