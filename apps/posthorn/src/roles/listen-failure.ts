import { StartFailure } from '../start-failure.ts'

/**
 * Why an address cannot be listened on, in one line; null for an error of another kind.
 * @param setting the name of the setting that holds the port
 */
export function listenFailure(error: unknown, host: string, setting: string, port: number): StartFailure | null {
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (syscall === 'getaddrinfo' || code === 'EADDRNOTAVAIL') {
    return new StartFailure(`POSTHORN_HOST: ${host} is no address of this machine`)
  }
  if (syscall !== 'listen') return null
  if (code === 'EADDRINUSE') {
    return new StartFailure(`${setting}: port ${port} of ${host} is taken: stop what listens there, or set another`)
  }
  if (code === 'EACCES') return new StartFailure(`${setting}: port ${port} of ${host} may not be listened on`)
  return new StartFailure(`POSTHORN_HOST and ${setting}: ${message}`)
}
