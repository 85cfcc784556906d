import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from 'hono'
import type { App, AppEnv } from '../../app.ts'

// All that the page loads is ours: it works offline, and a strict policy holds it to that.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Posthorn API</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

const start = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null })
`

const files: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

/** The contract as a page: Swagger UI, its scripts and styles served by us. */
export function registerDocsPage(app: App): void {
  const folder = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')))
  // Whoever looks what answers here, or types a slash too many, is led to it.
  for (const path of ['/', '/docs/']) app.get(path, (c) => c.redirect('/docs'))
  app.get('/docs', (c) => serve(c, page, 'text/html; charset=utf-8'))
  app.get('/docs/start.js', (c) => serve(c, start, 'text/javascript; charset=utf-8'))
  for (const [name, type] of Object.entries(files)) {
    app.get(`/docs/${name}`, async (c) => serve(c, new Uint8Array(await readFile(join(folder, name))), type))
  }
}

function serve(c: Context<AppEnv>, body: string | Uint8Array<ArrayBuffer>, type: string): Response {
  return c.body(body, 200, {
    'content-type': type,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'max-age=300',
  })
}
