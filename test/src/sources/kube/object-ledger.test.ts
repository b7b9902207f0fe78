import { expect } from 'chai';
import { ObjectLedger } from '../../../../src/sources/kube/object-ledger.ts';

interface Thing {
  readonly name: string;
}
const refused = (sentence: string) => ({ ok: false as const, path: ['spec'], sentence });

describe('objects of the API and what is in force of them', () => {
  it('looks through all refusals when somebody asks for them, not at each one', () => {
    const ledger = new ObjectLedger<Thing>('IPClaim');
    const { values } = Map.prototype;
    let looks = 0;
    Map.prototype.values = function (this: Map<unknown, unknown>) {
      looks += 1;
      return values.call(this);
    };
    try {
      for (let index = 0; index < 1000; index += 1) ledger.put(`c${index}`, refused('no'), 0);
      expect(ledger.faults).to.have.length(1000);
      expect(ledger.faults).to.have.length(1000);
    } finally {
      Map.prototype.values = values;
    }
    expect(looks).to.be.below(10);
  });

  it('knows the version in which an object was first as it is', () => {
    const ledger = new ObjectLedger<Thing & { readonly size?: number }>('IPClaim');
    const put = (version: string, size: number) => {
      ledger.put('c', { ok: true, object: { name: 'c', size } }, 0, { version });
      return ledger.goods.map((good) => good.version);
    };
    expect(put('7', 1)).to.deep.equal(['7']);
    expect(put('8', 1), 'an annotation').to.deep.equal(['7']);
    expect(put('9', 2)).to.deep.equal(['9']);
  });

  it('keeps a refusal that says the same, and its list', () => {
    const ledger = new ObjectLedger<Thing>('IPClaim');
    ledger.put('c', refused('no'), 0);
    const { faults } = ledger;
    ledger.put('c', refused('no'), 0);
    expect(ledger.faults).to.equal(faults);
    ledger.put('c', refused('not at all'), 0);
    expect(ledger.faults.map(({ sentence }) => sentence)).to.deep.equal(['spec: not at all']);
    ledger.put('c', { ok: true, object: { name: 'c' } }, 0);
    expect(ledger.faults).to.deep.equal([]);
    ledger.put('c', refused('no'), 0);
    expect(ledger.faults.map(({ keepsLastGood }) => keepsLastGood)).to.deep.equal([true]);
    ledger.remove('c');
    expect(ledger.faults).to.deep.equal([]);
  });
});
