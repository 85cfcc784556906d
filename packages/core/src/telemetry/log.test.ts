import { expect, test } from 'vitest'
import { createLog } from './log.ts'

function lines(level: Parameters<typeof createLog>[0]) {
  const written: string[] = []
  return { log: createLog(level, { write: (line: string) => void written.push(line) }), written }
}

test('writes one JSON object a line, with the level as a word and the time in UTC', () => {
  const { log, written } = lines('info')
  log.info({ endpoint: 'ep_1' }, 'claimed\nsomething')
  expect(written).toHaveLength(1)
  expect(written[0]).toMatch(/^[^\n]+\n$/)
  expect(JSON.parse(written[0]!)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    endpoint: 'ep_1',
    msg: 'claimed\nsomething',
  })
})

test('keeps to its level', () => {
  const { log, written } = lines('warn')
  log.info('no')
  log.warn('yes')
  expect(written).toHaveLength(1)
  const silent = lines('silent')
  silent.log.fatal('no')
  expect(silent.written).toHaveLength(0)
})

test('secrets are never written, at the top or two objects down', () => {
  const { log, written } = lines('info')
  const secret = 's3cr3t'
  const bad = {
    secret,
    token: secret,
    authorization: secret,
    password: secret,
    headers: { 'x-key': secret },
    secrets: [secret],
  }
  log.info(bad)
  log.info({ request: bad, config: { apiKey: secret, encryptionKey: secret, databaseUrl: secret } })
  log.info({ attempt: { request: bad } })
  log.error(Object.assign(new Error('failed'), bad))
  log.child({ token: secret }).info('x')
  expect(written).toHaveLength(5)
  expect(written.join('')).not.toContain(secret)
})
