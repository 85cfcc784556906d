import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { answer, drip, type Exhibit, flood, head, ok, onRequest } from './exhibit.ts'

const chunked = head(200, 'transfer-encoding: chunked')
const cut = /^200 truncated$/
const whole = /^200$/
const invalid = /^response_invalid in (request|headers)$/
/** What does not come fast enough to be too much ends at the deadline. */
const flooded = /^(response_invalid in (request|headers)|timeout in headers)$/
const late = /^timeout in headers$/
const bomb = gzipSync(Buffer.alloc(20_000_000), { level: 9 })

/** Answers that are wrong, too long, or never end. */
export const badAnswers: Exhibit[] = [
  { name: 'drips the status line', expected: late, serve: drip('HTTP/1.1 200 ', 'r') },
  { name: 'drips headers', expected: late, serve: drip('HTTP/1.1 200 X\r\n', 'x-a: 1\r\n') },
  { name: 'drips one header', expected: late, serve: drip('HTTP/1.1 200 X\r\nx-a: ', 'v') },
  { name: 'endless headers', expected: flooded, serve: flood('HTTP/1.1 200 X\r\n', 'x-header: value\r\n') },
  { name: 'an endless header', expected: flooded, serve: flood('HTTP/1.1 200 X\r\nx-a: ', 'v') },
  {
    name: 'an endless reason',
    expected: /^(response_invalid|timeout) in headers$/,
    serve: flood('HTTP/1.1 200 ', 'r'),
  },
  { name: 'endless white space before the answer', expected: flooded, serve: flood('', '\r\n') },
  { name: '102 now and then, for ever', expected: late, serve: drip('', head(102)) },
  { name: '102 at full speed, for ever', expected: flooded, serve: flood('', head(102)) },
  { name: '103 with links, for ever', expected: flooded, serve: flood('', head(103, 'link: </a>; rel=preload')) },
  { name: 'many 103, then 200', expected: whole, serve: answer(head(103, 'link: </a>').repeat(50) + ok) },
  { name: '100 unasked', expected: invalid, serve: answer(head(100) + ok) },
  { name: '101, then silence', expected: invalid, serve: answer(head(101, 'upgrade: foo', 'connection: upgrade')) },
  { name: '101, then a flood', expected: flooded, serve: flood(head(101, 'upgrade: foo', 'connection: upgrade'), 'x') },
  { name: 'drips a body', expected: cut, serve: drip(head(200, 'content-length: 100000'), 'x') },
  { name: 'drips chunks', expected: cut, serve: drip(chunked, '1\r\nx\r\n') },
  { name: 'drips a body of 500', expected: /^500 truncated$/, serve: drip(head(500, 'content-length: 100000'), 'x') },
  {
    name: 'an endless body',
    expected: cut,
    serve: flood(head(200, 'content-length: 99999999999'), randomBytes(1_024)),
  },
  { name: 'endless chunks', expected: cut, serve: flood(chunked, `400\r\n${'x'.repeat(1_024)}\r\n`) },
  { name: 'endless chunks of one byte', expected: cut, serve: flood(chunked, '1\r\nx\r\n') },
  {
    name: 'a body until the end, which does not come',
    expected: cut,
    serve: flood(head(200, 'connection: close'), 'x'),
  },
  { name: 'an endless chunk extension', expected: cut, serve: flood(`${chunked}1;a=`, 'v') },
  { name: 'endless trailers', expected: cut, serve: flood(`${chunked}1\r\nx\r\n0\r\n`, 'x-trailer: v\r\n') },
  { name: 'a chunk of 16 EiB', expected: cut, serve: answer(`${chunked}FFFFFFFFFFFFFFFF\r\nx`) },
  { name: 'a chunk size that is none', expected: cut, serve: answer(`${chunked}-1\r\nx\r\n0\r\n\r\n`) },
  {
    name: 'a body shorter than its length',
    expected: cut,
    serve: (socket) => onRequest(socket, () => void socket.end(`${head(200, 'content-length: 100')}short`)),
  },
  { name: 'a body longer than its length', expected: whole, serve: answer(`${head(200, 'content-length: 2')}longer`) },
  { name: 'a body with 204', expected: /^204$/, serve: answer(`${head(204, 'content-length: 4')}body`) },
  {
    name: 'length and chunks at once',
    expected: invalid,
    serve: answer(`${head(200, 'content-length: 1', 'transfer-encoding: chunked')}0\r\n\r\n`),
  },
  { name: 'two lengths', expected: invalid, serve: answer(`${head(200, 'content-length: 1', 'content-length: 2')}xx`) },
  { name: 'a length in words', expected: invalid, serve: answer(`${head(200, 'content-length: many')}x`) },
  { name: 'a length below zero', expected: invalid, serve: answer(`${head(200, 'content-length: -1')}x`) },
  {
    name: 'a length past all numbers',
    expected: invalid,
    serve: answer(head(200, `content-length: ${'9'.repeat(40)}`)),
  },
  {
    name: 'a gzip bomb',
    // Longer than what is kept, and not inflated.
    expected: cut,
    serve: answer(
      Buffer.concat([Buffer.from(head(200, 'content-encoding: gzip', `content-length: ${bomb.length}`)), bomb]),
    ),
  },
  {
    name: 'six encodings',
    expected: whole,
    serve: answer(`${head(200, `content-encoding: ${Array(6).fill('gzip').join(', ')}`, 'content-length: 2')}ok`),
  },
  {
    name: 'bytes that no text holds',
    expected: whole,
    serve: answer(
      Buffer.concat([
        Buffer.from(head(200, 'x-latin: \u00e9', 'content-length: 6'), 'latin1'),
        Buffer.from([0x61, 0, 0x62, 0xff, 0xed, 0xa0]),
      ]),
    ),
  },
  {
    name: 'a character cut at the limit',
    expected: /^200 truncated$/,
    serve: answer(`${head(200, `content-length: ${1 + 4 * 10_000}`)}x${'😊'.repeat(10_000)}`),
  },
  { name: 'NUL in a header', expected: invalid, serve: answer(head(200, 'x-a: a\0b', 'content-length: 0')) },
  { name: 'a header that is none', expected: invalid, serve: answer(head(200, 'bad header: x', 'content-length: 0')) },
  {
    name: 'a folded header',
    expected: /^(200|response_invalid in headers)$/,
    serve: answer(head(200, 'x-a: 1', ' 2', 'content-length: 0')),
  },
  {
    name: 'names of the language',
    expected: whole,
    serve: answer(head(200, '__proto__: x', 'constructor: x', 'content-length: 0')),
  },
  { name: 'line feeds alone', expected: invalid, serve: answer('HTTP/1.1 200 OK\ncontent-length: 0\n\n') },
  { name: 'HTTP/2', expected: invalid, serve: answer('HTTP/2 200 OK\r\n\r\n') },
  { name: 'HTTP/0.9', expected: invalid, serve: answer('<html>hello</html>') },
  { name: 'a status of two digits', expected: invalid, serve: answer(head(99, 'content-length: 0')) },
  { name: 'a status of four digits', expected: invalid, serve: answer(head(1000, 'content-length: 0')) },
  { name: 'a status in words', expected: invalid, serve: answer(head('OK', 'content-length: 0')) },
  { name: 'a status that nobody knows', expected: /^999$/, serve: answer(head(999, 'content-length: 0')) },
  { name: 'a redirect to itself', expected: /^302$/, serve: answer(head(302, 'location: /', 'content-length: 0')) },
  {
    name: 'a redirect to the metadata service',
    expected: /^307$/,
    serve: answer(head(307, 'location: http://169.254.169.254/latest/meta-data/', 'content-length: 0')),
  },
  {
    name: 'retry-after in every bad form',
    expected: /^429$/,
    serve: answer(head(429, `retry-after: ${'9'.repeat(8_000)}`, 'retry-after: -5, 1e30', 'content-length: 0')),
  },
  { name: 'a request in answer', expected: invalid, serve: answer('POST / HTTP/1.1\r\nhost: x\r\n\r\n') },
  { name: 'an SSH banner', expected: invalid, serve: (socket) => void socket.write('SSH-2.0-OpenSSH_9.6\r\n') },
  { name: 'an SMTP banner', expected: invalid, serve: (socket) => void socket.write('220 mail.test ESMTP\r\n') },
  { name: 'noise for ever', expected: flooded, serve: flood('', randomBytes(4_096)) },
]
