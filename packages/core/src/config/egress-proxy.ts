/** An HTTP proxy through which webhooks go out. */
export type EgressProxy = {
  /** Without the brackets of IPv6. */
  hostname: string
  port: number
  /** The value of `proxy-authorization`. Null when it wants none. */
  authorization: string | null
}

/** Reads `http://[user:password@]host:port`. Null for any other text, which may hold a password and is not repeated. */
export function parseEgressProxy(text: string): EgressProxy | null {
  const url = /^http:\/\/[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null
  if (url?.pathname !== '/' || url.search !== '' || url.hash !== '' || url.port === '0') return null
  let credentials: string
  try {
    credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  } catch {
    return null
  }
  return {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 80 : Number(url.port),
    authorization: credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  }
}
