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
import { claim, documents, peer, sourced } from './scenery.ts';

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
    expect(parseSavedView(formatSavedView(saved))).to.deep.equal(saved);
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
    it(`is none for ${name}`, () => expect(parseSavedView(text)).to.equal(undefined));
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
