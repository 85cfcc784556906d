import { invalidArgument } from '../errors.ts'

/** The API's address as calls use it: no slash at its end, nothing behind its path. */
export function baseUrl(text: string | URL): string {
  let url: URL
  try {
    url = new URL(text)
  } catch (error) {
    throw invalidArgument('/url', 'must be the address of the API, such as http://127.0.0.1:8080', error)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalidArgument('/url', 'must begin with http:// or https://')
  if (url.username || url.password)
    throw invalidArgument('/url', 'must not have a user in it: the key goes into apiKey')
  if (url.search || url.hash) throw invalidArgument('/url', 'must end with its path')
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '')
}

/** An operation's path. Every parameter stays within its segment of it. */
export function requestPath(route: string, parameters: Readonly<Record<string, string>>): string {
  return route.replace(/\{([a-z_]+)\}/g, (_, name: string) => segment(name, parameters[name]))
}

/** An operation's address, with its query. */
export function requestUrl(base: string, path: string, query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue
    search.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  return search.size === 0 ? base + path : `${base}${path}?${search}`
}

// Dots alone would be taken for a step in the path, encoded or not, and name another route.
function segment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || /^\.{1,2}$/.test(value) || !value.isWellFormed()) {
    throw invalidArgument(`/${name}`, 'must be a name or an id')
  }
  return encodeURIComponent(value)
}
