import { get } from 'node:http'

/*
 * Asks the Posthorn of this container whether it can serve, for the image's HEALTHCHECK: ends with 0 when it can, else
 * with 1 and a line that says why. Nothing else is loaded, for it runs every few seconds.
 */
const port = Number(process.env['POSTHORN_PORT'] || 8080)

function end(code: 0 | 1, line: string): void {
  process.stdout.write(`${line}\n`, () => process.exit(code))
}

const request = get({ host: '127.0.0.1', port, path: '/readyz', timeout: 3_000 }, (response) => {
  let body = ''
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    body = (body + text).slice(0, 2_000)
  })
  response.once('error', (error) => end(1, error.message))
  response.once('end', () => end(response.statusCode === 200 ? 0 : 1, `${response.statusCode} ${body}`))
})
request.once('timeout', () => request.destroy(new Error('no answer within 3 s')))
request.once('error', (error) => end(1, error.message))
