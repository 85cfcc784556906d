/** One line of the doctor's. `todo` says what to do where it is not `ok`; `skip` could not be looked at. */
export type Check = { name: string; state: 'ok' | 'warn' | 'fail' | 'skip'; message: string; todo: string | null }

export function ok(name: string, message: string): Check {
  return { name, state: 'ok', message, todo: null }
}

export function warn(name: string, message: string, todo: string): Check {
  return { name, state: 'warn', message, todo }
}

export function fail(name: string, message: string, todo: string): Check {
  return { name, state: 'fail', message, todo }
}

export function skip(name: string, message: string): Check {
  return { name, state: 'skip', message, todo: null }
}

/** `12 s`, `3 min`, `2.5 h`, `4 d`. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  if (seconds < 129_600) return `${(seconds / 3_600).toFixed(1)} h`
  return `${Math.round(seconds / 86_400)} d`
}
