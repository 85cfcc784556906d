export * from './target/index.ts'
