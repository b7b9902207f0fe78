/** The input of the decoder bench: the same everywhere, the size that it says, and nothing in it that a decoder refuses. */

import { createHash } from 'node:crypto';
import { decode, PLAIN_CONTEXT } from 'bgp-ts';
import { expect } from 'chai';
import { makeTable } from './table.ts';

const options = {
  seed: 4271,
  routes: 5_000,
  asn: 65002,
  nextHop: Uint8Array.of(10, 99, 0, 2),
  nextHop6: Uint8Array.of(0x20, 1, 0x0d, 0xb8, 0, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2),
};

const hash = (messages: readonly Uint8Array[]): string =>
  createHash('sha256').update(Buffer.concat(messages)).digest('hex').slice(0, 16);

function prefixesOf(message: Uint8Array): number {
  const result = decode(message, PLAIN_CONTEXT);
  if (!result.ok) throw new Error(result.fault.detail);
  expect(result.issues).to.deep.equal([]);
  if (result.message.kind !== 'update') throw new Error(`a ${result.message.kind}`);
  const { mpReach } = result.message.attributes;
  return result.message.nlri.length + (mpReach?.kind === 'prefixes' ? mpReach.nlri.length : 0);
}

describe('the seeded table of the decoder bench', () => {
  const table = makeTable(options);

  it('is the same bytes for the same seed, on every machine', () => {
    expect(hash(table.messages)).to.equal('a896e552f54a3940');
    expect(hash(makeTable({ ...options, seed: 1 }).messages)).to.not.equal(hash(table.messages));
  });

  it('holds as many routes as were asked for, in UPDATEs that decode without an issue', () => {
    const total = table.messages.reduce((sum, message) => sum + prefixesOf(message), 0);
    expect(total).to.equal(options.routes);
  });
});
