/** Codes of `lane.status`. */
export const laneStatus = { enabled: 0, paused: 1, disabled: 2, deleted: 3 } as const

/** Codes of `lane.ordering`. */
export const laneOrdering = { none: 0, strict: 1, by_key: 2 } as const

/** What another ordering writes to the lane: upkeep brings it from the one to the other. */
export function changeOfOrdering(current: string, wanted: string) {
  return current === wanted ? {} : { ordering: laneOrdering[wanted as keyof typeof laneOrdering], reordering: true }
}
