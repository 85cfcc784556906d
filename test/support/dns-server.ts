import { createSocket } from 'node:dgram'
import { type Answer, decode, encode } from 'dns-packet'
import { onTestFinished } from 'vitest'

/** Addresses, an error that a name server answers, or no answer at all. */
export type DnsReply =
  | readonly string[]
  | 'nxdomain'
  | 'servfail'
  | 'silent'
  | { after: number; addresses: readonly string[] }

export type DnsServer = {
  /** As a resolver is told of it: `127.0.0.1:<port>`. */
  address: string
  /** All questions, in order, as `A hooks.test`. */
  asked: string[]
}

/**
 * A name server on UDP that answers as it is told: the addresses of the question's family, without a time to live.
 * `reply` is asked for each question, with how often that name and type was asked before. Closed with the test.
 */
export async function startDnsServer(
  reply: (name: string, type: 'A' | 'AAAA', turn: number) => DnsReply,
): Promise<DnsServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    const query = decode(message)
    const question = query.questions?.[0]
    if (!question || (question.type !== 'A' && question.type !== 'AAAA')) return
    const { type } = question
    const name = question.name.toLowerCase()
    const told = reply(name, type, asked.filter((one) => one === `${type} ${name}`).length)
    asked.push(`${type} ${name}`)
    if (told === 'silent') return
    const send = (addresses: readonly string[], code: number): void => {
      const answers = addresses
        .filter((address) => address.includes(':') === (type === 'AAAA'))
        .map((data): Answer => ({ type, name: question.name, ttl: 0, data }))
      const header = { type: 'response' as const, id: query.id ?? 0, flags: 0x0180 | code }
      socket.send(encode({ ...header, questions: [question], answers }), from.port, from.address)
    }
    if (told === 'nxdomain') send([], 3)
    else if (told === 'servfail') send([], 2)
    else if ('after' in told) setTimeout(send, told.after, told.addresses, 0)
    else send(told, 0)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise((resolve) => socket.close(() => resolve())))
  return { address: `127.0.0.1:${socket.address().port}`, asked }
}
