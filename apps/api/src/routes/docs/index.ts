import type { App } from '../../app.ts'
import { registerOpenapi } from './openapi.ts'
import { registerDocsPage } from './page.ts'

export function registerDocs(app: App): void {
  registerOpenapi(app)
  registerDocsPage(app)
}
