import { expect } from 'chai';
import {
  type Carried,
  carriedOver,
  formatSavedView,
  parseSavedView,
  SAVED_VERSION,
  type SavedView,
  withCarried,
} from '../../../src/agent/saved-view.ts';
import { claim, documents, peer, savedViewIn, sourced } from './scenery.ts';

const { peers, pools, claims } = documents({
  peers: [peer({ password: { kind: 'file', path: '/etc/key' } })],
});
const carried: Carried = { peers, pools, claims };
const saved: SavedView = {
  version: SAVED_VERSION,
  savedAtMs: 1000,
  routerId: 7,
  documents: carried,
  nodeDrain: 'a person asked',
  claimDrains: [['198.51.100.7', 'x']],
};

describe('the saved View', () => {
  it('comes back as it was', () => {
    expect(parseSavedView(formatSavedView(saved))).to.deep.equal({ ok: true, saved });
  });

  const bad = [
    { name: 'nothing', text: '' },
    { name: 'a cut-off file', text: formatSavedView(saved).slice(0, 100) },
    { name: 'another version', text: formatSavedView(saved).replace('"version":1', '"version":2') },
    { name: 'null', text: 'null' },
    { name: 'a list', text: '[]' },
    { name: 'no documents', text: '{"version":1,"savedAtMs":1,"routerId":1,"claimDrains":[]}' },
  ];
  for (const { name, text } of bad) {
    it(`is none for ${name}`, () => expect(savedViewIn(text)).to.equal(undefined));
  }
});

describe('documents carried over a restart', () => {
  const fault = (file: string, subject?: string) => ({
    file,
    sentence: 'bad',
    keepsLastGood: false,
    ...(subject === undefined ? {} : { subject }),
  });
  const none = { peers: [], pools: [], claims: [] };

  it('stands in for an object that its source refuses by name', () => {
    const now = { ...none, faults: [fault('/etc/herald/x.yaml', 'IPClaim/198.51.100.7')] };
    const kept = carriedOver(now, carried);
    expect(kept).to.deep.equal({ ...none, claims });
    expect(withCarried(now, kept).claims).to.deep.equal(claims);
  });

  it('stands in with what can be read of it now: that it is withdrawn (C14)', () => {
    const faults = [fault('API', 'IPClaim/198.51.100.7')];
    const [saved] = claims;
    if (saved === undefined) throw new Error('no claim');
    const withdrawn = { reason: 'Released: Service a/b has given it back' };
    const { checks: _, ...core } = { ...saved.object, withdrawn };
    const cores = new Map([[core.name, core]]);
    const kept = carriedOver({ ...none, faults, cores }, carried);
    expect(kept.claims[0]?.object).to.deep.equal({ ...saved.object, withdrawn });
  });

  it('stands in without its version, which answers for no release that came after it', () => {
    const before = { ...none, claims: claims.map((each) => ({ ...each, version: '70' })) };
    const faults = [fault('API', 'IPClaim/198.51.100.7')];
    expect(carriedOver({ ...none, faults }, before).claims).to.deep.equal(claims);
  });

  it('does not stand in for a pool that overlaps another one, unless it was another form that was accepted', () => {
    const now = { ...none, faults: [fault('API', 'IPPool/vips')] };
    expect(carriedOver({ ...now, conflicting: pools }, carried).pools).to.deep.equal([]);
    const edited = pools.map((each) => ({ ...each, object: { ...each.object, ranges: [] } }));
    expect(carriedOver({ ...now, conflicting: edited }, carried).pools).to.deep.equal(pools);
  });

  it('stands in for all of a file that cannot be read', () => {
    const now = { ...none, faults: [fault('/etc/herald/vips.yaml')] };
    expect(carriedOver(now, carried)).to.deep.equal({ ...none, pools });
    // a file whose name merely ends alike is another one
    expect(
      carriedOver({ ...none, faults: [fault('/etc/herald/myvips.yaml')] }, carried),
    ).to.deep.equal(none);
  });

  it('does not stand in for what was removed, nor for what is there', () => {
    expect(carriedOver({ ...none, faults: [] }, carried)).to.deep.equal(none);
    const newer = [sourced(claim({ labels: { v: '2' } }))];
    const now = { ...none, claims: newer, faults: [fault('x', 'IPClaim/198.51.100.7')] };
    expect(withCarried(now, carriedOver(now, carried)).claims).to.deep.equal(newer);
  });

  it('is not needed any more once the source has shown the object', () => {
    const bad = { ...none, faults: [fault('x', 'IPClaim/198.51.100.7')] };
    const once = carriedOver(bad, carried);
    const shown = carriedOver({ ...none, claims, faults: [] }, once);
    expect(carriedOver(bad, shown)).to.deep.equal(none);
  });

  it('looks at each fault and each object a few times, however many there are', () => {
    const many = Array.from({ length: 300 }, (_, n) =>
      claim({ at: `198.51.${n >> 8}.${n & 255}` }),
    );
    let looks = 0;
    const faults = many.map(({ name }) =>
      Object.defineProperty(fault('x'), 'subject', {
        get: () => {
          looks += 1;
          return `IPClaim/${name}`;
        },
      }),
    );
    const before = { ...none, claims: many.map((one) => sourced(one)) };
    expect(carriedOver({ ...none, faults }, before).claims).to.have.length(300);
    expect(looks).to.be.at.most(4 * 300);
  });
});
