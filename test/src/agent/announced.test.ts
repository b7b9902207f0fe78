import type { PeerStatus } from 'bgp-ts';
import { expect } from 'chai';
import { AnnouncedState } from '../../../src/agent/announced.ts';
import { desired } from '../../../src/agent/desired.ts';
import { nodeLabel } from '../../../src/model/names.ts';
import { claim, documents, NODE, sourced, VIP, view } from './scenery.ts';

const joined = { isOpen: true, sentence: 'joined' };
const cluster = { joined, isReady: true, drains: new Map(), addresses: [] };

function at(level: string | undefined) {
  const labels = level === undefined ? {} : { [nodeLabel(NODE)]: level };
  const claims = [{ ...sourced(claim({ labels })), source: 'api' as const }];
  return desired(view({ documents: documents({ claims }), cluster }));
}

/** as far as it matters here */
function speaker() {
  const session = { state: 'established', isSynced: true };
  const status = () => [session as unknown as PeerStatus];
  return { session, status };
}

describe('what is out at the neighbours', () => {
  it('is what was decided once every session that is up has it', () => {
    const world = speaker();
    const state = new AnnouncedState(world);
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
    const state = new AnnouncedState(world);
    state.decided(at(undefined));
    state.observed(7n, false);
    expect(state.current).to.deep.equal({
      levels: new Map(),
      routes: 0,
      observedClaims: 7n,
      isCurrent: true,
    });
  });
});
