/**
 * Where no webhook may go, and where it may: the tables for all tests of the target guard, so that what is refused when an
 * endpoint is written is refused when it is connected to.
 */

/** An address of each special-purpose range of IPv4, its first and last where a range is easily cut short. */
export const forbiddenIPv4: readonly string[] = [
  ...['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  ...['10.0.0.0', '10.0.0.5', '10.255.255.255'],
  ...['100.64.0.0', '100.64.0.1', '100.100.100.200', '100.127.255.255'],
  ...['127.0.0.1', '127.0.0.2', '127.1.2.3', '127.255.255.255'],
  ...['169.254.0.1', '169.254.0.23', '169.254.42.42', '169.254.169.254', '169.254.170.2', '169.254.170.23'],
  ...['169.254.255.255', '168.63.129.16'],
  ...['172.16.0.0', '172.17.0.1', '172.31.255.255'],
  ...['192.0.0.0', '192.0.0.8', '192.0.0.9', '192.0.0.170', '192.0.0.192', '192.0.0.255'],
  ...['192.0.2.1', '192.31.196.1', '192.52.193.1', '192.88.99.1', '192.88.99.2'],
  ...['192.168.0.0', '192.168.1.1', '192.168.255.255', '192.175.48.1'],
  ...['198.18.0.0', '198.19.255.255', '198.51.100.7', '203.0.113.7'],
  ...['224.0.0.1', '232.1.1.1', '239.255.255.250', '240.0.0.1', '255.255.255.254', '255.255.255.255'],
]

/** The like for IPv6, and every way in which IPv6 carries IPv4. */
export const forbiddenIPv6: readonly string[] = [
  ...['::', '::1', '::2', '::ffff', '0:0:0:0:0:0:0:1'],
  // IPv4-mapped, in each spelling.
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:a9fe:a9fe', '::ffff:10.0.0.5', '::FFFF:192.168.1.1'],
  ...['::ffff:169.254.169.254', '::ffff:0.0.0.0', '::ffff:100.64.0.1', '::ffff:203.0.113.7', '::ffff:255.255.255.255'],
  // IPv4-compatible, and IPv4-translated.
  ...['::127.0.0.1', '::169.254.169.254', '::a00:5', '::ffff:0:7f00:1', '::ffff:0:10.0.0.1'],
  // NAT64, and its local-use prefix.
  ...['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b::a00:1', '64:ff9b::192.168.1.1', '64:ff9b::0.0.0.0'],
  ...['64:ff9b:1::1', '64:ff9b:1::a9fe:a9fe', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', '64:ff9b:2::1', '64:ff9b:0:1::1'],
  // 6to4 and Teredo.
  ...['2002:a9fe:a9fe::', '2002:7f00:1::', '2002:a00:5::1', '2002:101:101::1', '2001:0:4136:e378::'],
  ...['2001::1', '2001:0:7f00:1:0:0:80ff:fffe'],
  // ISATAP, under a link-local and under global prefixes.
  ...['fe80::5efe:7f00:1', 'fe80::200:5efe:a00:1', '2606:4700::5efe:a9fe:a9fe', '2a00:1450::200:5efe:10.0.0.1'],
  // Protocol assignments, benchmarking, ORCHID, DRIP, AS112, documentation, discard-only, segment routing.
  ...['2001:1::1', '2001:2::1', '2001:3::1', '2001:4:112::1', '2001:10::1', '2001:20::1', '2001:30::1'],
  ...['2001:1ff:ffff::1', '2620:4f:8000::1', '2001:db8::1', '2001:db8:ffff::1', '3fff::1', '3fff:fff::1'],
  ...['100::1', '100:0:0:1::1', '5f00::1', '5f00:ffff::1'],
  // Private, link-local, site-local, multicast.
  ...['fc00::1', 'fd00::1', 'fd12:3456::1', 'fdff:ffff::1', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
  ...['fd00:42::42', 'fe80::1', 'fe81::1', 'febf::1', 'fec0::1', 'feff::1', 'ff00::1', 'ff02::1', 'ff0e::1'],
  // Not assigned to anybody.
  ...['200::1', '400::1', '1000::1', '4000::1', '8000::1', 'c000::1', 'e000::1', 'f000::1', 'fe00::1'],
]

/** Hosts that a parser turns into one of the above, or that always resolve to one. */
export const forbiddenHosts: readonly string[] = [
  // Decimal, octal, hexadecimal, short, and mixed.
  ...['2130706433', '017700000001', '0x7f000001', '0x7F000001', '0x7f.1', '0x7f.0.0.1', '0177.0.0.1', '0177.1'],
  ...['127.1', '127.0.1', '127.0x1', '127.65530', '0', '0x0', '00', '0.0', '0x', '1', '4294967295', '0xffffffff'],
  ...['2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '0xa9.0xfe.0xa9.0xfe', '169.254.43518', '169.16689662'],
  ...['10.1', '012.1', '0xa.1', '167772161', '192.168.257', '0300.0250.1.1', '3232235777', '100.64.1', '172.1048577'],
  ...['000177.0.0.01', '0x00000000000000007f.0.0.1', '00000000000000000000177.0.0.1'],
  // A dot at the end, and capitals.
  ...['127.0.0.1.', '2130706433.', '0x7f.1.', '169.254.169.254.', 'localhost', 'localhost.', 'LOCALHOST', 'LocalHost.'],
  ...['a.localhost', 'a.b.localhost.', 'foo.LOCALHOST'],
  // Unicode: circled, full-width and superscript digits, other dots, letters that fold, what is dropped.
  ...[
    '①②⑦.⓪.⓪.①',
    '１２７.０.０.１',
    '１２７。０。０。１',
    '127｡0｡0｡1',
    '127。1',
    '０ｘ７ｆ.1',
    '¹²⁷.⁰.⁰.¹',
    '𝟏𝟐𝟕.𝟎.𝟎.𝟏',
  ],
  ...[
    '127.0.0.1\u{00ad}',
    '127\u{200b}.0.0.1',
    'ｌｏｃａｌｈｏｓｔ',
    'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
    'loca\u{00ad}lhost',
    'localhoſt',
    '127.0.0.\u{0661}',
  ],
  // Per cent.
  ...['%31%32%37.0.0.1', '127%2e0%2e0%2e1', '%6c%6fcalhost', '%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1', '127.0.0.1%00'],
  ...['127.0.0.1%20', '127.0.0.1%09'],
  // Addresses in brackets that are none, and with a zone.
  ...['[127.0.0.1]', '[::1', '::7', '[::1%25lo]', '[fe80::1%25eth0]', '[::ffff:127.1]', '[::ffff:0x7f.0.0.1]', '[0]'],
  // Metadata services by name.
  ...['metadata.google.internal', 'Metadata.Google.Internal.', 'metadata.goog', 'metadata', 'instance-data'],
  ...['instance-data.ec2.internal', 'metadata.tencentyun.com'],
  // Names that can never be found.
  ...['a..b.test', '.a.test', 'a.test..', '1.2.3.400', '1.2.3.4.5', '0x7f.0.0.0x100', `${'a'.repeat(64)}.test`],
  ...[`${'a.'.repeat(127)}test`, 'a!b.test', 'a*.test', "a'b.test", 'a,b.test', 'a{b}.test'],
]

/** Whole URLs. */
export const forbiddenUrls: readonly string[] = [
  // Credentials, empty ones too, and what looks like a host before them.
  ...['https://user@h.test/', 'https://user:pass@h.test/', 'https://:secret@h.test/', 'https://@h.test/'],
  ...['https://:@h.test/', 'https://h.test@127.0.0.1/', 'https://127.0.0.1@h.test/', 'https://h.test:80@10.0.0.1/'],
  ...['https://a@b@h.test/', 'https://%40@h.test/'],
  // Other schemes.
  ...['file:///etc/passwd', 'file://h.test/x', 'gopher://h.test/', 'ftp://h.test/', 'ws://h.test/', 'wss://h.test/'],
  ...['unix:/var/run/docker.sock', 'http+unix://x', 'data:,x', 'javascript:alert(1)', 'blob:https://h.test/1'],
  ...['mailto:a@h.test', 'dict://h.test:11211/', 'ldap://h.test/', 'jar:http://h.test!/', 'view-source:http://h.test/'],
  ...['about:blank', 'urn:x', 'tel:1', 'ssh://h.test/', 'netdoc:///etc/passwd', 'httpx://h.test/', 'httpsx://h.test/'],
  // Not absolute, or not so that each parser reads the same.
  ...[
    '',
    'h.test',
    '/x',
    '//h.test/x',
    '//127.0.0.1/',
    'https:',
    'https:/',
    'https://',
    'https:///',
    'https:///h.test/',
  ],
  ...[
    'https:h.test',
    'https:/h.test',
    'http:127.0.0.1',
    'http:/127.0.0.1/',
    'http:///127.0.0.1/',
    'https://?x',
    'https://:80/',
  ],
  ...['https:\\\\h.test\\x', 'https://h.test\\@127.0.0.1/', 'https:/\\127.0.0.1/', 'http://127.0.0.1\\.h.test/'],
  ...[' https://h.test/', 'https://h.test/ ', 'https://h.test/\n', 'ht\ntps://h.test/', 'https://h.test/a b'],
  ...[
    'https://h.te\tst/',
    'https://127.0.0.1\t/',
    'https://h.test/\u0000',
    'https://h.test\u0000.a.test/',
    '\u0001https://h.test/',
  ],
  ...['https://h.test/#fragment', 'https://h.test/#', 'https://h.test#@127.0.0.1/', 'http://127.0.0.1#@h.test/'],
  ...['https://h.test/\ud800', 'https://h.test\udc00/'],
  // Ports.
  ...['https://h.test:0/', 'https://h.test:00/', 'https://h.test:65536/', 'https://h.test:-1/', 'https://h.test:1e3/'],
  ...['https://h.test:80:90/', 'https://h.test:８０８0x/', 'http://127.0.0.1:80/', 'http://[::1]:5432/'],
  // Credentials and addresses behind what a text filter would look at.
  ...[
    'http://127.0.0.1/?https://h.test/',
    'http://127.0.0.1:443/https://h.test',
    'HTTP://127.0.0.1/',
    'hTtPs://[::1]/',
  ],
]

/** Public addresses next to special ranges, and of well-known operators. */
export const publicIPv4: readonly string[] = [
  ...['1.0.0.0', '1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '93.184.216.34', '100.63.255.255', '100.128.0.0'],
  ...['126.255.255.255', '128.0.0.1', '168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0'],
  ...['172.15.255.255', '172.32.0.0', '191.255.255.255', '192.0.1.0', '192.0.3.1', '192.88.98.1', '192.88.100.1'],
  ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '198.51.99.1', '198.51.101.1', '203.0.112.1'],
  ...['203.0.114.1', '223.255.255.255'],
]

export const publicIPv6: readonly string[] = [
  ...[
    '2606:4700::1111',
    '2001:4860:4860::8888',
    '2a00:1450:4001:80b::200e',
    '2001:200::1',
    '2001:db7::1',
    '2001:db9::1',
  ],
  ...['2003::1', '2400:cb00::1', '2620:4f:7fff::1', '2620:4f:8001::1', '3ffe::1', '2c0f:fb50::1', '::ffff:1.1.1.1'],
  ...['64:ff9b::1.1.1.1', '64:ff9b::808:808', '2606:4700:0:0:5efe::1', '2606:4700::100:5efe:a00:1'],
]

/** URLs that must be taken, whatever their host resolves to later. */
export const publicUrls: readonly string[] = [
  ...['https://example.com/', 'http://example.com/hook', 'HTTPS://Hooks.Example.COM/In?a=B', 'https://example.com.'],
  ...['https://example.com:8443/a/b?c=d&e=%20', 'https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ...[
    'https://例え.テスト/',
    'https://a-b.example/',
    'https://a_b.example/',
    'https://1.example/',
    'https://1a.2b.example/',
  ],
  ...['http://example.com:22/', 'http://example.com:25/', 'http://example.com:6000/', 'http://example.com:6379/'],
  ...['http://example.com:10080/', 'http://example.com:443/', 'https://example.com:65535/', 'https://example.com?x=@y'],
  ...['https://example.com/@user', 'https://example.com/?u=http://127.0.0.1/', 'https://localhost.example/'],
  ...['https://127.0.0.1.example/', 'https://notlocalhost/', 'https://metadata.example/', 'https://example.com/😊'],
  ...[`https://${'a'.repeat(63)}.example/`, 'https://receiver/', 'https://receiver.internal/'],
]
