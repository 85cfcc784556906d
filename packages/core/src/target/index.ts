export { checkUrl, createTargetRules, type TargetRules, type UrlCheck } from './target-rules.ts'
