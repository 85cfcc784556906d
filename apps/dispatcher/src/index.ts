export { type Dispatcher, type DispatcherOptions, startDispatcher } from './dispatcher.ts'
export { defaultTiming, type Timing } from './timing.ts'
