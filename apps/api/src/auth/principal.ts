/** Who asks. A publish key without a tenant may publish for any. */
export type Principal =
  | { kind: 'operator'; keyId: string | null; tenantId: null }
  | { kind: 'tenant'; keyId: string; tenantId: string }
  | { kind: 'publish'; keyId: string; tenantId: string | null }
