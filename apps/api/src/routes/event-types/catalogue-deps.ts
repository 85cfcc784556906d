import type { RouteDeps } from '../../app.ts'
import type { LiveCatalogue } from '../../catalogue/live-catalogue.ts'
import type { SchemaCompiler } from '../../catalogue/schema/compile.ts'

export type CatalogueDeps = RouteDeps & { catalogue: LiveCatalogue; compiler: SchemaCompiler }
