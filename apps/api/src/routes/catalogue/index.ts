import type { App } from '../../app.ts'
import type { CatalogueDeps } from '../event-types/catalogue-deps.ts'
import { registerCatalogueExport } from './export.ts'
import { registerCatalogueImport } from './import.ts'

export function registerCatalogue(app: App, deps: CatalogueDeps): void {
  registerCatalogueExport(app, deps)
  registerCatalogueImport(app, deps)
}
