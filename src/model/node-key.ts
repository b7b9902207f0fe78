/**
 * The name of a node as a number, for lists of names that other people write. Pure. An EndpointSlice names up to a thousand nodes of 253 characters each, which need
 * not be there; as keys they take eight octets each, whatever they are.
 */

/** Of 53 bits: two nodes do not meet by chance. Who makes a name that meets another one's could have written that one. */
export function nodeKey(name: string): number {
  let high = 0x9e3779b9;
  let low = 0x7f4a7c15;
  for (let at = 0; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    high = Math.imul(high ^ code, 0x85ebca6b);
    low = Math.imul(low ^ code, 0x27d4eb2f);
  }
  return (mixed(high, low) & 0x1fffff) * 0x100000000 + (mixed(low, high) >>> 0);
}

/** the last characters reach every bit */
function mixed(word: number, other: number): number {
  const half = Math.imul(word ^ (word >>> 16), 0xc2b2ae35);
  const rest = Math.imul(other ^ (other >>> 13), 0x165667b1);
  return half ^ rest ^ (half >>> 15);
}
