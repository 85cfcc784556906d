import { createServer } from 'node:net'

/** True when nothing listens on this port of 127.0.0.1. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await probe(port)) !== null
}

/** A port of 127.0.0.1 that is free now: the wanted one if it can be had. */
export async function freePort(wanted: number | null): Promise<number> {
  const port = (wanted ? await probe(wanted) : null) ?? (await probe(0))
  if (port === null) throw new Error('no free port on 127.0.0.1')
  return port
}

function probe(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(null))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : null))
    })
  })
}
