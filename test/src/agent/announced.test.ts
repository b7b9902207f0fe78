import { hostPrefix, type PeerStatus, type SpeakerEvent } from 'bgp-ts';
import { expect } from 'chai';
import { AnnouncedState } from '../../../src/agent/announced.ts';
import { desired } from '../../../src/agent/desired.ts';
import { SessionFacts } from '../../../src/agent/session-facts.ts';
import { nodeLabel } from '../../../src/model/names.ts';
import { address, claim, documents, NODE, sourced, VIP, view } from './scenery.ts';

const joined = { isOpen: true, sentence: 'joined' };
const cluster = { joined, isReady: true, drains: new Map(), addresses: [] };

function at(level: string | undefined) {
  const labels = level === undefined ? {} : { [nodeLabel(NODE)]: level };
  const claims = [{ ...sourced(claim({ labels })), source: 'api' as const }];
  return desired(view({ documents: documents({ claims }), cluster }));
}

/** as far as it matters here */
function speaker() {
  const session = { name: 'tor', state: 'established', isSynced: true };
  const status = () => [session as unknown as PeerStatus];
  const facts = new SessionFacts();
  facts.take(SYNCED);
  const state = new AnnouncedState({ status }, () => facts.carriers(status()));
  return { session, facts, state };
}

const SYNCED: SpeakerEvent = { kind: 'routes-synced', peer: 'tor', routes: { ipv4: 0, ipv6: 0 } };

function refusedOf(at: string): SpeakerEvent {
  const route = { prefix: hostPrefix(address(at)), attributes: {} };
  const first = [{ kind: 'refused', route, reason: 'no-next-hop', detail: 'no next hop' } as const];
  return { kind: 'routes-refused', peer: 'tor', count: 1, first };
}

describe('what is out at the neighbours', () => {
  it('is what was decided once every session that is up has it', () => {
    const world = speaker();
    const { state } = world;
    expect(state.current).to.deep.equal({ levels: new Map(), routes: 0, isCurrent: true });
    state.decided(at('0'));
    state.observed(5n, false);
    expect(state.current).to.deep.equal({
      levels: new Map([[VIP, 0]]),
      routes: 1,
      observedClaims: 5n,
      isCurrent: true,
    });
    world.session.isSynced = false;
    state.decided(at('1'));
    state.observed(6n, false);
    expect(state.settle()).to.equal(false);
    expect(state.current.levels.get(VIP)).to.equal(0);
    expect(state.current.isCurrent).to.equal(false);
    expect(state.current.observedClaims).to.equal(5n);
    world.session.isSynced = true;
    expect(state.settle()).to.equal(true);
    expect(state.current.levels.get(VIP)).to.equal(1);
    expect(state.current.observedClaims).to.equal(6n);
    expect(state.settle()).to.equal(false);
  });

  it('waits for no session that is down', () => {
    const world = speaker();
    world.session.isSynced = false;
    world.session.state = 'connect';
    const { state } = world;
    state.decided(at(undefined));
    state.observed(7n, false);
    expect(state.current).to.deep.equal({
      levels: new Map(),
      routes: 0,
      observedClaims: 7n,
      isCurrent: true,
    });
  });

  it('is nothing that no session carries: a level is told when a router has it', () => {
    const { facts, state } = speaker();
    state.decided(at('0'));
    expect(state.current.levels.get(VIP)).to.equal(0);
    facts.take(refusedOf(VIP));
    facts.take(SYNCED);
    expect(state.current.levels.has(VIP), 'refused').to.equal(false);
    expect(state.current.routes).to.equal(0);
    facts.take(refusedOf('2001:db8:7::1'));
    facts.take(SYNCED);
    expect(state.current.levels.get(VIP), 'the other family').to.equal(0);
  });

  it('is nothing while no session is up, and nothing on a new session that has not been told yet', () => {
    const { facts, session, state } = speaker();
    state.decided(at('0'));
    const reason = { kind: 'stopped' } as const;
    facts.take({ kind: 'down', peer: 'tor', wasEstablished: true, reason });
    session.state = 'connect';
    expect(state.current.levels.size).to.equal(0);
    session.state = 'established';
    expect(state.current.levels.size).to.equal(0);
    facts.take(SYNCED);
    expect(state.current.levels.get(VIP)).to.equal(0);
  });
});
