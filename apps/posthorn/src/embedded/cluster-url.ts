import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The connection string of the Postgres in a data folder, on the port that it was last started on; whether it runs is not
 * looked at. Null where there is none, or it is not ours to read.
 */
export async function clusterUrl(dataDir: string): Promise<string | null> {
  const place = join(dataDir, 'postgres')
  const read = (name: string): Promise<string> => readFile(join(place, name), 'utf8').catch(() => '')
  const [password, port] = (await Promise.all([read('password'), read('port')])).map((text) => text.trim())
  return password && port ? embeddedUrl(password, Number(port)) : null
}

/** How the embedded Postgres is connected to. */
export function embeddedUrl(password: string, port: number): string {
  return `postgresql://postgres:${password}@127.0.0.1:${port}/posthorn`
}
