import { ipv4, prefix, type RefusedRoute, type SpeakerEvent } from 'bgp-ts';
import { expect } from 'chai';
import { SessionFacts } from '../../../src/agent/session-facts.ts';
import { negotiated } from '../../support/model-neighbour.ts';

const SESSION = { name: 'tor', state: 'active', lastError: 'connection refused' } as const;
const WORDS: SpeakerEvent = {
  kind: 'down',
  peer: 'tor',
  wasEstablished: true,
  reason: { kind: 'notification-received', code: 6, subcode: 2, detail: 'until noon' },
};

describe('what sessions say', () => {
  it('keeps the words with which a router went while it is away', () => {
    const facts = new SessionFacts();
    facts.take(WORDS);
    const [told] = facts.told([SESSION]);
    expect(told?.lastError).to.equal(
      'neighbour sent 6/2: until noon; since then: connection refused',
    );
    const same = { ...SESSION, lastError: 'neighbour sent 6/2: until noon' } as const;
    expect(facts.told([same])[0]?.lastError).to.equal('neighbour sent 6/2: until noon');
  });

  it('forgets them when it is back, and with the peer', () => {
    const facts = new SessionFacts();
    facts.take(WORDS);
    facts.take({ kind: 'transition', peer: 'tor', from: 'open-confirm', to: 'established' });
    expect(facts.told([SESSION])[0]?.lastError).to.equal('connection refused');
    facts.take(WORDS);
    facts.take({ kind: 'removed', peer: 'tor' });
    expect(facts.told([SESSION])[0]?.lastError).to.equal('connection refused');
  });

  it('keeps what it knows of a session when a second connection beside it ends', () => {
    const facts = new SessionFacts();
    come(facts, 'tor', [REFUSED]);
    facts.take({ ...WORDS, wasEstablished: false });
    expect(facts.carriers(UP).of('tor', 'ipv4').kind).to.equal('carried');
    expect(facts.carriers(UP).of('tor', 'ipv6').kind).to.equal('refused');
    // nor does the loser's farewell explain the end of the session that won
    const reason = { kind: 'disconnected', detail: 'reset' } as const;
    facts.take({ kind: 'down', peer: 'tor', wasEstablished: true, reason });
    expect(facts.carriers(UP).of('tor', 'ipv4').kind).to.equal('down');
    expect(facts.refusal('tor', 'ipv6')).to.equal(undefined);
    expect(facts.told([SESSION])[0]?.lastError).to.equal('connection refused');
  });

  it('keeps the words of a router that refuses us before a session is up', () => {
    const facts = new SessionFacts();
    facts.take({ ...WORDS, wasEstablished: false });
    expect(facts.told([SESSION])[0]?.lastError).to.contain('until noon');
  });

  it('knows nothing of a new session by the name of one that was renamed', () => {
    const facts = new SessionFacts();
    come(facts, 'tor', [REFUSED]);
    facts.take({ kind: 'routes-synced', peer: 'spine', routes: { ipv4: 1, ipv6: 0 } });
    facts.take(established('tor'));
    expect(facts.carriers(UP).of('tor', 'ipv4').kind).to.equal('down');
    expect(facts.refusal('tor', 'ipv6')).to.equal(undefined);
  });

  it('forgets the sessions whose names are gone', () => {
    const facts = new SessionFacts();
    come(facts, 'tor', [REFUSED]);
    facts.take({ kind: 'removed', peer: 'tor' });
    expect(facts.carriers(UP).of('tor', 'ipv4').kind).to.equal('down');
    expect(facts.refusal('tor', 'ipv6')).to.equal(undefined);
  });
});

const UP = [{ name: 'tor', state: 'established' }] as const;
const REFUSED: RefusedRoute = {
  kind: 'refused',
  reason: 'no-next-hop',
  detail: 'the session has no ipv6 next hop',
  route: { prefix: prefix('2001:db8::7/128'), attributes: {} },
};

function established(peer: string): SpeakerEvent {
  const local = { address: ipv4('192.0.2.1'), port: 179 };
  return { kind: 'established', peer, side: 'out', local, remote: local, negotiated: negotiated() };
}

/** a session comes up, and all but this much goes out */
function come(facts: SessionFacts, peer: string, first: readonly RefusedRoute[]): void {
  facts.take(established(peer));
  facts.take({ kind: 'routes-refused', peer, count: first.length, first });
  facts.take({ kind: 'routes-synced', peer, routes: { ipv4: 1, ipv6: 0 } });
}
