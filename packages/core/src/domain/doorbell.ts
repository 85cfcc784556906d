/** The channel on which dispatchers hear of lanes that have new work. */
export const doorbellChannel = 'posthorn_doorbell'

/** Ids in one notification: 22 characters each, under the 8000 bytes that NOTIFY carries. */
export const doorbellCapacity = 350

/** Endpoint ids (UUIDs) as one notification's payload: 22 characters of base64url each, with nothing between. */
export function encodeDoorbell(endpointIds: readonly string[]): string {
  let text = ''
  for (const id of endpointIds) text += Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')
  return text
}

/** The ids of a notification; what is not one of ours gives none. */
export function decodeDoorbell(payload: string): string[] {
  const ids: string[] = []
  for (let at = 0; at + 22 <= payload.length; at += 22) {
    const hex = Buffer.from(payload.slice(at, at + 22), 'base64url').toString('hex')
    if (hex.length !== 32) return []
    ids.push(`${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`)
  }
  return ids
}
