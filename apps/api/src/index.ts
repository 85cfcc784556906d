export type { ApiDeps } from './app.ts'
export { type Api, createApi } from './create-api.ts'
export { type RunningApi, type StartApiOptions, startApi } from './start-api.ts'
