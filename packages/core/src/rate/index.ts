export { type Rate, rateOf, takeTokens, tokensIn, waitForTokens } from './bucket.ts'
