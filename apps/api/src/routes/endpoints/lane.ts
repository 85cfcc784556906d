/** Codes of `lane.status`. */
export const laneStatus = { enabled: 0, paused: 1, disabled: 2, deleted: 3 } as const
