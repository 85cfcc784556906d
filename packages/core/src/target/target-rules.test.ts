import { describe, expect, it } from 'vitest'
import { checkUrl, createTargetRules } from './target-rules.ts'

const rules = createTargetRules([])
const reason = (url: string): string => {
  const check = rules.checkUrl(url)
  return check.ok ? 'ok' : check.code
}

describe('addresses', () => {
  it.each([
    ...['100.64.0.1', '100.100.100.200', '192.0.0.192', '198.18.0.1', '0.0.0.0', '0.1.2.3', '240.0.0.1'],
    ...['255.255.255.255', '224.0.0.1', '192.88.99.1', '192.0.2.1', '198.51.100.7', '203.0.113.7', '169.254.170.2'],
    ...['127.0.0.1', '10.0.0.5', '172.31.255.255', '192.168.1.1', '169.254.169.254', '168.63.129.16'],
  ])('IPv4 that is not public is refused: %s', (address) => {
    expect(rules.refusal(address, 80)).not.toBeNull()
    expect(reason(`http://${address}/`)).toBe('target_refused')
  })

  it.each([
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:a9fe:a9fe', '::169.254.169.254', '2002:a9fe:a9fe::'],
    ...['64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '2001:0:4136:e378::', 'fe80::1', 'fe81::1', 'febf::1', 'fec0::1'],
    ...['ff02::1', '::', '::1', '100::1', '2001:db8::1', '3fff::1', '5f00::1', 'fd00:ec2::254', '4000::1'],
  ])('IPv6 that is not public, or embeds such IPv4, is refused: %s', (address) => {
    expect(rules.refusal(address, 80)).not.toBeNull()
    expect(reason(`http://[${address}]/`)).toBe('target_refused')
  })

  it.each(['93.184.216.34', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.0.1', '100.128.0.1', '223.255.255.255'])(
    'public IPv4 passes: %s',
    (address) => expect(rules.refusal(address, 443)).toBeNull(),
  )

  it.each(['2606:4700::1111', '2a00:1450:4001:80b::200e', '::ffff:1.1.1.1', '64:ff9b::101:101'])(
    'public IPv6 passes: %s',
    (address) => {
      expect(rules.refusal(address, 443)).toBeNull()
      expect(reason(`https://[${address}]/`)).toBe('ok')
    },
  )

  it('what is no address is refused', () => {
    for (const text of ['', 'example.com', '127.1', '0x7f.1', 'fe80::1%eth0', '::g']) {
      expect(rules.refusal(text, 80)).not.toBeNull()
    }
  })
})

describe('allowed targets', () => {
  it('a network opens its addresses, mapped spellings too, and no others', () => {
    const rules = createTargetRules([{ cidr: '10.1.0.0/16' }, { cidr: 'fd00::/8' }])
    expect(rules.refusal('10.1.2.3', 80)).toBeNull()
    expect(rules.refusal('::ffff:10.1.2.3', 80)).toBeNull()
    expect(rules.refusal('fd12::1', 80)).toBeNull()
    expect(rules.refusal('10.2.0.1', 80)).toBe('private')
    expect(rules.refusal('64:ff9b::a01:203', 80)).toBe('private')
    expect(rules.refusal('::1', 80)).toBe('loopback')
  })

  it('an address with a port opens that port alone', () => {
    const rules = createTargetRules([{ address: '127.0.0.1', port: 8081 }])
    expect(rules.refusal('127.0.0.1', 8081)).toBeNull()
    expect(rules.refusal('127.0.0.1', 8080)).toBe('loopback')
    expect(rules.refusal('127.0.0.2', 8081)).toBe('loopback')
    expect(rules.checkUrl('http://localhost:8081/').ok).toBe(true)
    expect(rules.checkUrl('http://localhost:8080/').ok).toBe(false)
  })

  it('one that cannot be parsed throws, with its text', () => {
    expect(() => createTargetRules([{ cidr: '10.0.0.0/99' }])).toThrow('10.0.0.0/99')
    expect(() => createTargetRules([{ address: 'db', port: 1 }])).toThrow('db')
  })
})

describe('URLs', () => {
  it.each(['http://0x7f.1/', 'http://2130706433/', 'http://0177.0.0.1/', 'http://127.1/', 'http://0/'])(
    'a number in disguise is refused: %s',
    (url) => expect(reason(url)).toBe('target_refused'),
  )

  it.each([
    'http://①②⑦.⓪.⓪.①/',
    'http://127.0.0.1./',
    'http://localhost/',
    'http://LOCALHOST./',
    'http://a.localhost/',
  ])('another spelling of loopback is refused: %s', (url) => expect(reason(url)).toBe('target_refused'))

  it.each(['file:///etc/passwd', 'gopher://h.test', 'ftp://h.test', 'ws://h.test', 'unix:/var/run/docker.sock'])(
    'a scheme other than http and https is refused: %s',
    (url) => expect(reason(url)).toBe('target_refused'),
  )

  it.each(['http+unix://x', 'data:,x', 'javascript:alert(1)', 'blob:https://h.test/1'])(
    'a scheme without a network is refused: %s',
    (url) => expect(reason(url)).toBe('target_refused'),
  )

  it.each(['//h.test/x', '/x', '', 'h.test', 'https://', 'http://[::1', 'https://h.test:65536/', 'https://1.2.3.400/'])(
    'what is no absolute URL is invalid: %s',
    (url) => expect(reason(url)).toBe('url_invalid'),
  )

  it.each([
    ' https://h.test/',
    'https://h.test/\n',
    'ht\ntps://h.test/',
    'https://h.test/a b',
    'https://h.test/\u0000',
  ])('characters that a parser would drop are invalid: %j', (url) => expect(reason(url)).toBe('url_invalid'))

  it.each(['https://user@h.test/', 'https://:secret@h.test/', 'https://h.test:0/'])('is refused: %s', (url) =>
    expect(reason(url)).toBe('target_refused'),
  )

  it('every other port is allowed, and said so at once', () => {
    for (const port of [22, 25, 443, 6000, 6379, 10080, 65535]) expect(reason(`http://h.test:${port}/`)).toBe('ok')
  })

  it('an upper-case scheme and host are normalised', () => {
    const check = checkUrl('HTTPS://Hooks.Example.COM/In?a=B', [])
    expect(check.ok && [check.url.href, check.hostname, check.port, check.literal]).toEqual([
      'https://hooks.example.com/In?a=B',
      'hooks.example.com',
      443,
      false,
    ])
  })

  it('a refusal does not repeat credentials, path or query', () => {
    for (const url of ['https://u:hunter2@h.test/hunter2', 'http://10.0.0.1/hunter2?hunter2', 'ftp://h/hunter2']) {
      expect(JSON.stringify(checkUrl(url, []))).not.toContain('hunter2')
    }
  })
})
