import { measureRawPosts, startReceiver } from '../measure/raw-posts.ts'
import type { Scenario } from '../scenario.ts'

export const raw: Scenario = {
  name: 'raw',
  what: 'POSTs of 1 KiB that undici alone makes to the receiver: the yardstick of the drains',
  unit: 'requests/s',
  yardstick: null,
  targets: [],
  byDefault: true,
  async run(stage) {
    const receiver = await startReceiver(stage)
    const rate = await measureRawPosts(stage, receiver, stage.options.seconds ?? 10)
    return { value: rate, ratio: null, metrics: {}, details: {} }
  },
}
