import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Answer, Call, Functions } from '../workers/serve.ts'
import type { Scope } from './scope.ts'
import { within } from './wait.ts'

export type Worker<F extends Functions> = {
  pid: number
  /** Calls one of its functions. @throws what the function threw; that it ended; that it took too long */
  call<N extends keyof F & string>(
    name: N,
    input: Parameters<F[N]>[0],
    timeoutMs: number,
  ): Promise<Awaited<ReturnType<F[N]>>>
  stop(): Promise<void>
}

/** Starts a script of workers/ in a process of its own. */
export async function startWorker<F extends Functions>(scope: Scope, file: string): Promise<Worker<F>> {
  if (scope.ended()) throw new Error('the bench ends')
  const child = fork(fileURLToPath(new URL(`../workers/${file}`, import.meta.url)), {
    // Ctrl-C is ours to answer: in our process group it would end them before what they serve.
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [],
  })
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let lastId = 0
  const exited = new Promise<void>((resolve) => {
    const gone = (why: string): void => {
      for (const { reject } of waiting.values()) reject(new Error(`the worker ${file} ${why}`))
      waiting.clear()
      resolve()
    }
    child.once('error', (error) => gone(error.message))
    child.once('exit', (code, signal) => gone(`ended: ${signal ?? code}`))
  })
  child.on('message', (answer: Answer) => {
    const caller = waiting.get(answer.id)
    waiting.delete(answer.id)
    if ('error' in answer) caller?.reject(new Error(`${file}: ${answer.error}`))
    else caller?.resolve(answer.value)
  })
  const stop = scope.add(async () => {
    child.kill('SIGKILL')
    await within(exited, 5_000, `the end of worker ${file}`)
  })
  await within(
    new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    }),
    10_000,
    `the start of worker ${file}`,
  )
  return {
    pid: child.pid!,
    stop,
    call(name, input, timeoutMs) {
      const id = ++lastId
      const answer = new Promise<unknown>((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        const call: Call = { id, name, input }
        child.send(call, (error) => error && reject(error))
      })
      return within(answer, timeoutMs, `${file} ${name}`).finally(() => waiting.delete(id)) as Promise<never>
    },
  }
}
