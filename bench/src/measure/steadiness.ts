export type Steadiness = {
  /** Events that were due and had not been received, on average over the second before each moment. */
  backlogAtThird: number
  backlogAtTwoThirds: number
  backlogAtEnd: number
  /** Received in the last two thirds, against what was due in them. Below 1 the backlog grew. */
  keptUp: number
  /** Received in the time, a second: what the backlog at its end has not got is not among it. */
  receivedPerSecond: number
}

/**
 * Whether what is received keeps up with what is due.
 * @param dueAt when each event should have been published, in order @param arrivedAt when each was received, in any order
 */
export function describeSteadiness(
  dueAt: ArrayLike<number>,
  arrivedAt: ArrayLike<number>,
  measureMs: number,
): Steadiness {
  const due = Float64Array.from(dueAt)
  const arrived = Float64Array.from(arrivedAt).sort()
  const startsAt = due[0]!
  const backlogBefore = (moment: number): number => {
    const steps = 20
    const spanMs = Math.min(1_000, measureMs / 10)
    let total = 0
    for (let step = 0; step < steps; step++) {
      const at = moment - (spanMs * step) / steps
      total += countUntil(due, at) - countUntil(arrived, at)
    }
    return total / steps
  }
  const [third, twoThirds, end] = [1, 2, 3].map((n) => startsAt + (measureMs * n) / 3) as [number, number, number]
  const backlogAtThird = backlogBefore(third)
  const backlogAtEnd = backlogBefore(end)
  const dueBetween = countUntil(due, end) - countUntil(due, third)
  return {
    backlogAtThird,
    backlogAtTwoThirds: backlogBefore(twoThirds),
    backlogAtEnd,
    keptUp: 1 - (backlogAtEnd - backlogAtThird) / dueBetween,
    receivedPerSecond: (countUntil(arrived, end) * 1_000) / measureMs,
  }
}

/** How many of the sorted moments lie at or before this one. */
function countUntil(moments: Float64Array, moment: number): number {
  let from = 0
  let to = moments.length
  while (from < to) {
    const middle = (from + to) >> 1
    if (moments[middle]! <= moment) from = middle + 1
    else to = middle
  }
  return from
}
