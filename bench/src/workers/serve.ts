/** What a worker offers: each function takes and gives one value that can be cloned. */
export type Functions = Record<string, (input: never) => unknown>

export type Call = { id: number; name: string; input: unknown }
export type Answer = { id: number; value: unknown } | { id: number; error: string }

/** Answers the parent's calls. When the parent is gone, by whatever death, the worker ends too. */
export function serve(functions: Functions): void {
  const send = (answer: Answer): void => void process.send?.(answer, () => undefined)
  process.on('message', (call: Call) => {
    void (async () => {
      try {
        send({ id: call.id, value: await functions[call.name]!(call.input as never) })
      } catch (error) {
        send({ id: call.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
      }
    })()
  })
  process.once('disconnect', () => process.exit(0))
}
