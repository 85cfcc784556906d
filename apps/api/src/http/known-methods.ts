import type { App } from '../app.ts'

/** For a path without a handler: the methods it has, to tell 405 from 404 and to answer OPTIONS. */
export function createKnownMethods(app: App): (path: string) => string[] {
  const routes = app.openAPIRegistry.definitions.flatMap((definition) =>
    definition.type === 'route'
      ? [{ method: definition.route.method.toUpperCase(), pattern: toPattern(definition.route.path) }]
      : [],
  )
  return (path) => {
    const methods = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (methods.includes('GET')) methods.push('HEAD')
    return methods.length === 0 ? [] : [...new Set([...methods, 'OPTIONS'])].sort()
  }
}

function toPattern(path: string): RegExp {
  const escaped = path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')
  return new RegExp(`^${escaped}$`)
}
