/**
 * Who is in the demo: one router, three machines, one address. Loopback addresses out of 127.0.0.0/8, which every Linux machine has
 * without asking; the claimed address is from the range for documentation (RFC 5737) and never on an interface.
 */

export interface Member {
  /** 1, 2, 3: what people press and say */
  readonly id: number;
  readonly name: string;
  /** source of its session, hence its next hop, and where its API server listens */
  readonly address: string;
}

export const MEMBERS: readonly Member[] = [1, 2, 3].map((id) => ({
  id,
  name: `node-${id}`,
  address: `127.0.1.${id}`,
}));

export const CLAIM = '203.0.113.10';
export const PREFIX = `${CLAIM}/32`;
export const POOL = '203.0.113.0/24';
export const ROUTER_ADDRESS = '127.0.0.1';
export const ROUTER_ASN = 64500;
export const MEMBER_ASN = 64512;
export const HOLD_SECONDS = 3;
/** how long a draining route stays out with GRACEFUL_SHUTDOWN */
export const DRAIN_SECONDS = 1;

export function memberByAddress(address: string): Member | undefined {
  return MEMBERS.find((member) => member.address === address);
}

export function nameOf(id: number): string {
  return MEMBERS.find((member) => member.id === id)?.name ?? `node-${id}`;
}
