import { randomBytes } from 'node:crypto'
import { type Issued, issue, selfSigned } from '../../sender/certificate.ts'
import { answer, type Exhibit, head, ok, onRequest } from './exhibit.ts'

/** The exhibits that speak TLS or ought to, and the certificates that the sender is to trust for them. */
export function badTls(): { exhibits: Exhibit[]; authorities: string[] } {
  const host = ['127.0.0.1']
  const trusted = issue(host)
  const root = issue([])
  const intermediate = issue([], { issuer: root })
  const leaf = issue(host, { issuer: intermediate })
  const expired = selfSigned(host, { expired: true })
  const future = selfSigned(host, { future: true })
  const other = selfSigned(['other.test'])
  const of = ({ key, cert }: Pick<Issued, 'key' | 'cert'>) => ({ key, cert })
  const secure = { scheme: 'https', serve: answer(ok) } as const

  const exhibits: Exhibit[] = [
    { ...secure, name: 'a right certificate', expected: /^200$/, tls: of(trusted) },
    {
      ...secure,
      name: 'a whole chain',
      expected: /^200$/,
      tls: { key: leaf.key, cert: leaf.cert + intermediate.cert },
    },
    { ...secure, name: 'an intermediate that is not sent', expected: /^tls_untrusted in tls$/, tls: of(leaf) },
    { ...secure, name: 'expired', expected: /^tls_expired in tls$/, tls: of(expired) },
    { ...secure, name: 'not valid yet', expected: /^tls_expired in tls$/, tls: of(future) },
    { ...secure, name: 'self-signed', expected: /^tls_untrusted in tls$/, tls: of(selfSigned(host)) },
    { ...secure, name: 'for another name', expected: /^tls_name_mismatch in tls$/, tls: of(other) },
    {
      ...secure,
      name: 'TLS 1.0 alone',
      expected: /^(tls_failed|connect_reset) in tls$/,
      tls: { ...of(trusted), minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' },
    },
    {
      ...secure,
      name: 'wants a certificate of the sender',
      // In TLS 1.3 it says so, or just closes, only after the handshake.
      expected: /^(tls_failed in tls|connection_(closed|reset) in headers)$/,
      tls: { ...of(trusted), requestCert: true, rejectUnauthorized: true },
    },
    {
      ...secure,
      name: 'speaks HTTP/2 alone',
      expected: /^(tls_failed|connect_reset) in tls$/,
      tls: { ...of(trusted), ALPNProtocols: ['h2'] },
    },
    {
      name: 'closes without a word behind half an answer over TLS',
      scheme: 'https',
      expected: /^200 truncated$/,
      tls: of(trusted),
      serve: (socket) =>
        onRequest(socket, () => void socket.write(`${head(200, 'content-length: 99')}x`, () => socket.destroy())),
    },
    {
      name: 'an endless body over TLS',
      scheme: 'https',
      expected: /^200 truncated$/,
      tls: of(trusted),
      serve: (socket) =>
        onRequest(socket, () => {
          socket.write(head(200, 'content-length: 99999999999'))
          const block = randomBytes(65_536)
          const go = (): void => {
            while (!socket.destroyed && socket.write(block));
          }
          socket.on('drain', go)
          go()
        }),
    },
    {
      name: 'answers over TLS before it is asked',
      scheme: 'https',
      expected: /^(200|(response_invalid|timeout) in (request|headers))$/,
      tls: of(trusted),
      serve: (socket) => void socket.write(ok),
    },
    {
      name: 'closes right behind the handshake',
      scheme: 'https',
      expected: /^(connection_(closed|reset) in (request|headers)|connect_reset in tls)$/,
      tls: of(trusted),
      serve: (socket) => void socket.end(),
    },
    // https, and no TLS.
    {
      ...secure,
      name: 'plain HTTP where TLS is meant',
      expected: /^tls_failed in tls$/,
      serve: onFirstBytes(head(400)),
    },
    {
      ...secure,
      name: 'noise in the handshake',
      expected: /^tls_failed in tls$/,
      serve: onFirstBytes(randomBytes(4_096)),
    },
    {
      ...secure,
      name: 'silent in the handshake',
      expected: /^timeout in tls$/,
      serve: (socket) => void socket.resume(),
    },
    {
      ...secure,
      name: 'closes in the handshake',
      expected: /^(connect_reset|tls_failed) in tls$/,
      serve: (socket) => void socket.once('data', () => socket.destroy()),
    },
    {
      ...secure,
      name: 'drips the handshake',
      expected: /^timeout in tls$/,
      serve: (socket) => {
        socket.resume()
        // A handshake record of 16 KiB, a byte at a time.
        socket.write(Buffer.from([22, 3, 3, 0x40, 0, 2, 0, 0x3f, 0xfc]))
        const timer = setInterval(() => socket.write('\0'), 100)
        socket.once('close', () => clearInterval(timer))
      },
    },
    // http, and TLS.
    {
      name: 'TLS where plain HTTP is meant',
      scheme: 'http',
      expected: /^(connection_(closed|reset)|response_invalid) in (request|headers)$/,
      tls: of(trusted),
      serve: answer(ok),
    },
  ]
  return { exhibits, authorities: [trusted, root, expired, future, other].map(({ cert }) => cert) }
}

const onFirstBytes =
  (bytes: string | Buffer) =>
  (socket: import('node:net').Socket): void =>
    void socket.once('data', () => socket.write(bytes))
