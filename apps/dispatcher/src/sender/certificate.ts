import type { TLSSocket } from 'node:tls'

type Shown = { valid_from: string; valid_to: string; subjectaltname: string | undefined }
type WithCertificate = { peerCertificate?: Shown }

/**
 * Looks at the certificate that the other side shows, so that an error tells what is wrong with it: Node has let it go when
 * it gives the error. @returns what attaches it to an error
 */
export function watchCertificate(socket: TLSSocket): (error: Error & WithCertificate) => void {
  let shown: Shown | undefined
  // Emitted when the handshake is done and nothing is verified yet. (`getPeerX509Certificate` here would leave Node's own
  // check of the name without a certificate.)
  socket.prependOnceListener('secure', () => {
    const { valid_from, valid_to, subjectaltname } = socket.getPeerCertificate()
    shown = { valid_from, valid_to, subjectaltname }
  })
  socket.once('secureConnect', () => {
    shown = undefined
  })
  return (error) => {
    if (shown) error.peerCertificate = shown
  }
}

const nothing = { from: '', until: '', names: '' }
const maxNamesLength = 200

/** What a certificate says of itself, each ready to stand at the end of a sentence. Empty where there is none. */
export function certificateOf(error: unknown): { from: string; until: string; names: string } {
  const shown = error instanceof Error ? (error as Error & WithCertificate).peerCertificate : undefined
  if (!shown) return nothing
  // Written by a stranger.
  const names = (shown.subjectaltname ?? '').replaceAll(/[^\x20-\x7e]/g, '?').slice(0, maxNamesLength)
  return {
    from: `, until ${day(shown.valid_from)}`,
    until: `, on ${day(shown.valid_to)}`,
    names: names === '' ? '' : ` (${names})`,
  }
}

function day(text: string): string {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? 'a day that cannot be read' : date.toISOString().slice(0, 10)
}
