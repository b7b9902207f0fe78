import { hostPrefix, type SpeakerEvent } from 'bgp-ts';
import { expect } from 'chai';
import { desired } from '../../../src/agent/desired.ts';
import { refusalsOf } from '../../../src/agent/refusals.ts';
import { SessionFacts } from '../../../src/agent/session-facts.ts';
import { address, claim, documents, peer, VIP, view } from './scenery.ts';

const VIP6 = '2001:db8:7::1';
const DETAIL = 'ipv6 unicast was not agreed on with the neighbour';

function synced(name: string): SpeakerEvent {
  return { kind: 'routes-synced', peer: name, routes: { ipv4: 0, ipv6: 0 } };
}

/** sessions that are up, told, and those of them that take no IPv6 */
function carriers(up: readonly string[], deaf: readonly string[]) {
  const facts = new SessionFacts();
  for (const name of up) {
    if (deaf.includes(name)) {
      const route = { prefix: hostPrefix(address(VIP6)), attributes: {} };
      const why = { reason: 'family-not-negotiated', detail: DETAIL } as const;
      const first = [{ kind: 'refused', route, ...why } as const];
      facts.take({ kind: 'routes-refused', peer: name, count: 1, first });
    }
    facts.take(synced(name));
  }
  return facts.carriers(up.map((name) => ({ name, state: 'established' })));
}

describe('claims that are not announced', () => {
  const peers = [
    peer({ name: 'one' }),
    peer({ name: 'two', target: { kind: 'address', address: address('192.0.2.2') } }),
  ];
  const decided = desired(
    view({ documents: documents({ peers, claims: [claim(), claim({ at: VIP6 })] }) }),
  );
  const told = (up: readonly string[], deaf: readonly string[]) =>
    refusalsOf(decided, carriers(up, deaf)).map(({ address: at, gate, peer: at1, message }) =>
      [at, gate, at1 ?? 'everywhere', message].join(' | '),
    );

  it('one that no session takes is refused, with what to do', () => {
    const why = `one: ${DETAIL}; turn on ipv6 for this neighbour at the router`;
    expect(told(['one', 'two'], ['one', 'two'])).to.deep.equal([
      `${VIP6} | allowed | everywhere | ${why}`,
    ]);
  });

  it('one that another session takes is refused by that peer alone; one that waits for a session is not refused', () => {
    const why = `one: ${DETAIL}; turn on ipv6 for this neighbour at the router`;
    expect(told(['one', 'two'], ['one'])).to.deep.equal([`${VIP6} | allowed | one | ${why}`]);
    expect(told(['one'], ['one'])).to.deep.equal([`${VIP6} | allowed | one | ${why}`]);
    expect(told([], [])).to.deep.equal([]);
    expect(VIP).to.equal(decided.claims[0]?.subject.claim.object.name);
  });
});
