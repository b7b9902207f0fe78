import type { SpeakerEvent } from 'bgp-ts';
import { expect } from 'chai';
import { SessionFacts } from '../../../src/agent/session-facts.ts';

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
    facts.told([]);
    expect(facts.told([SESSION])[0]?.lastError).to.equal('connection refused');
  });
});
