import { expect, it } from 'vitest'
import { parseHosts } from './hosts-file.ts'

it('a hosts file gives names their addresses, whatever else stands in it', () => {
  const table = parseHosts(
    [
      '127.0.0.1\tlocalhost # the machine itself',
      '::1 localhost ip6-localhost\r',
      '  10.0.0.7   Receiver.Internal receiver ',
      'fe80::1%eth0 zoned',
      '# 10.0.0.8 commented',
      '10.0.0.9',
      'not-an-address name',
      '0x7f.1 disguised',
      '',
    ].join('\n'),
  )
  expect(Object.fromEntries(table)).toEqual({
    localhost: [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ],
    'ip6-localhost': [{ address: '::1', family: 6 }],
    'receiver.internal': [{ address: '10.0.0.7', family: 4 }],
    receiver: [{ address: '10.0.0.7', family: 4 }],
  })
})
