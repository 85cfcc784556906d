export { type Filter, type FilterTest, filterLimits, testsOf } from './filter.ts'
export { filterPath, placePaths, testPath } from './filter-path.ts'
export { type FilterFault, type ReadFilter, readFilter } from './filter-read.ts'
export { namesInWords, unmetTests, wantedInWords } from './filter-unmet.ts'
