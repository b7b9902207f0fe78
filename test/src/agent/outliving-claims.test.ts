/** Addresses of Services whose pool has shrunk or gone (decision 0020): what an agent makes of them, also after its restart. */

import { expect } from 'chai';
import { desired } from '../../../src/agent/desired.ts';
import { HeardDocuments } from '../../../src/agent/heard-documents.ts';
import { formatSavedView, SAVED_VERSION } from '../../../src/agent/saved-view.ts';
import type { View } from '../../../src/agent/view.ts';
import type { Documents } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import type { IpPool } from '../../../src/model/ip-pool.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import {
  advertisement,
  announced,
  claim,
  documents,
  gateOf,
  pool,
  savedViewIn,
  VIP,
  view,
} from './scenery.ts';

const joined = { isOpen: true, sentence: 'joined' };
const CLUSTER = { joined, isReady: true, drains: new Map(), addresses: [] };
const OF_SERVICE = claim({
  pool: 'vips',
  services: [{ namespace: 'shop', name: 'web' }],
  labels: { [ANYCAST_LABEL]: '' },
});
const BY_HAND = claim({ pool: 'vips', labels: { [ANYCAST_LABEL]: '' } });
const MED = pool({ advertisements: [advertisement({ med: 7 })] });
const SMALL = { ...pool({ addresses: ['198.51.100.128/25'] }), advertisements: MED.advertisements };
const AT = { nowMs: 0, wallMs: 0 };
const OPTIONS = { sources: ['api'], source: 'the API', maxStaleMs: 1e9 } as const;

function fromApi(pools: readonly IpPool[], made: IpClaim): Documents {
  const all = documents({ pools, claims: [made] });
  return {
    peers: all.peers.map((one) => ({ ...one, source: 'api' })),
    pools: all.pools.map((one) => ({ ...one, source: 'api' })),
    claims: all.claims.map((one) => ({ ...one, source: 'api' })),
    faults: [],
  };
}

function seen(...steps: readonly Documents[]): Documents {
  const heard = new HeardDocuments({ ...OPTIONS, saved: undefined });
  for (const step of steps) heard.learn('api', step, AT);
  if (heard.documents === undefined) throw new Error('nothing was heard');
  return heard.documents;
}

const WIDE = pool({
  advertisements: [advertisement({ discardRoute: true, aggregationLength: { ipv4: 26 } })],
});

const viewOf = (known: Documents): View => view({ documents: known, cluster: CLUSTER });
const routes = (known: Documents) => announced(desired(viewOf(known)));
const med = (known: Documents) => desired(viewOf(known)).claims[0]?.peers[0]?.route?.attributes.med;
const sentence = (known: Documents) => {
  const [decision] = desired(viewOf(known)).claims;
  return decision?.gates.pooled.sentence;
};

describe('an address of a Service outlives its pool', () => {
  it('the pool shrinks: it is announced as the pool says', () => {
    const known = seen(fromApi([MED], OF_SERVICE), fromApi([SMALL], OF_SERVICE));
    expect(routes(known)).to.deep.equal([`tor ${VIP}`]);
    expect(med(known)).to.equal(7);
    expect(sentence(known)).to.equal(
      'pool vips does not hold it any more; it stays until its Services leave it',
    );
  });

  it('the pool goes: it is announced as its last form said, until it is released', () => {
    const known = seen(fromApi([MED], OF_SERVICE), fromApi([], OF_SERVICE));
    expect(routes(known)).to.deep.equal([`tor ${VIP}`]);
    expect(med(known)).to.equal(7);
    expect(sentence(known)).to.include('pool vips is gone; it stays as that said');
    const released = claim({ ...OF_SERVICE, services: [], withdrawn: { reason: 'released' } });
    expect(routes(seen(fromApi([MED], OF_SERVICE), fromApi([], released)))).to.deep.equal([]);
  });

  it('the pool goes, and its aggregate with it: the host route goes out', () => {
    const before = seen(fromApi([WIDE], OF_SERVICE));
    const known = seen(fromApi([WIDE], OF_SERVICE), fromApi([], OF_SERVICE));
    const wishes = (documents: Documents) =>
      desired({ ...viewOf(documents), discards: new Map() }).discards.size;
    expect([before, known].map(wishes)).to.deep.equal([1, 0]);
    expect(routes(known)).to.deep.equal([`tor ${VIP}`]);
    const [decision] = desired(viewOf(known)).claims;
    expect(decision?.peers[0]?.allowed.sentence).to.include('pool vips is gone');
  });

  it('a restart forgets nothing: neither what went before it nor what went meanwhile', () => {
    const before = seen(fromApi([MED], OF_SERVICE), fromApi([], OF_SERVICE));
    for (const known of [before, seen(fromApi([MED], OF_SERVICE))]) {
      const { faults: _, ...rest } = known;
      const file = formatSavedView({
        version: SAVED_VERSION,
        savedAtMs: 0,
        routerId: 1,
        documents: rest,
        claimDrains: [],
      });
      const heard = new HeardDocuments({ ...OPTIONS, saved: savedViewIn(file) });
      heard.restore('api', AT);
      heard.learn('api', fromApi([], OF_SERVICE), AT);
      expect(routes(heard.documents ?? before)).to.deep.equal([`tor ${VIP}`]);
      expect(med(heard.documents ?? before)).to.equal(7);
    }
  });

  it('a pool that this node has never known: refused, with a sentence', () => {
    const known = seen(fromApi([], OF_SERVICE));
    expect(routes(known)).to.deep.equal([]);
    expect(gateOf(viewOf(known), 'allowed')).to.deep.include({
      state: 'closed',
      sentence: `IPPool vips is gone, and this node has never known it: nobody can say how ${VIP} is announced`,
      remedy: `make IPPool vips again, with ${VIP} in it`,
    });
  });

  it('a claim by hand stands by the pools as they are', () => {
    expect(routes(seen(fromApi([MED], BY_HAND)))).to.deep.equal([`tor ${VIP}`]);
    expect(routes(seen(fromApi([MED], BY_HAND), fromApi([SMALL], BY_HAND)))).to.deep.equal([]);
    const gone = seen(fromApi([MED], BY_HAND), fromApi([], BY_HAND));
    expect(routes(gone)).to.deep.equal([]);
    expect(sentence(gone)).to.equal(`${VIP} is not in pool vips`);
  });
});
