/**
 * Which next hop a request takes, as a router with ECMP decides: a hash over what makes the flow, here its number, modulo the next
 * hops in use. The same request and the same table give the same answer. Pure.
 */

export function chooseNextHop<T>(flow: number, nextHops: readonly T[]): T | undefined {
  return nextHops.length === 0 ? undefined : nextHops[mix(flow) % nextHops.length];
}

/** Neighbouring numbers far apart, so that no rhythm of ours becomes one of the table's. */
function mix(flow: number): number {
  let hash = Math.imul(flow ^ (flow >>> 16), 0x45d9f3b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 16)) >>> 0;
}
