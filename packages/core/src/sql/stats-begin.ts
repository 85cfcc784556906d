import { beginGuarded } from './pipelined-transaction.ts'

/** Opens a transaction for statements that ask for an index's own order: no sort may take its place. */
export const beginOrdered = `${beginGuarded}; set local enable_sort = off`
