/**
 * Lanes that have to hear of a success: those that are failing, probing or recovering. A lane's claim says whether it is
 * one; between two claims, a failure that we settle makes it one. All other lanes hear nothing, which is why their settles
 * cost no lane a write.
 */
export type WatchList = {
  /** A claim has read the lane. */
  read(endpointId: string, watched: boolean): void
  /** A failure of the lane is about to be settled. */
  failed(endpointId: string): void
  has(endpointId: string): boolean
}

/** Forgetting one costs its lane some successes unheard, until the next claim. */
const maxLanes = 100_000

export function createWatchList(): WatchList {
  const lanes = new Set<string>()
  function add(endpointId: string): void {
    if (lanes.size >= maxLanes) lanes.delete(lanes.values().next().value!)
    lanes.add(endpointId)
  }
  return {
    read(endpointId, watched) {
      if (watched) add(endpointId)
      else lanes.delete(endpointId)
    },
    failed: add,
    has: (endpointId) => lanes.has(endpointId),
  }
}
