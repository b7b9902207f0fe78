import { expect } from 'chai';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { formerAfter, formerNodes, isFormerNode } from '../../../src/scheduler/former-nodes.ts';

const FORMER = 'herald.dev/former-nodes';
const claim = (labels: Readonly<Record<string, string>>, former?: string) => ({
  labels,
  annotations: former === undefined ? {} : { [FORMER]: former },
});
const nobody = () => false;
const [a, b, c] = [nodeLabel('a'), nodeLabel('b'), nodeLabel('c')];

describe('former nodes of a claim', () => {
  it('are those that lose their labels, until they have them again', () => {
    expect(formerAfter(claim({ [a]: '0' }), { [a]: null, [b]: '0' }, nobody)).to.equal('a');
    expect(formerAfter(claim({ [b]: '0' }, 'a'), { [b]: null, [c]: '0' }, nobody)).to.equal('a,b');
    expect(formerAfter(claim({ [b]: '0' }, 'a'), { [b]: null, [a]: '0' }, nobody)).to.equal('b');
    expect(formerAfter(claim({ [b]: '0' }, 'a'), { [b]: '2', [a]: '0' }, nobody)).to.equal(null);
  });

  it('change nothing where nobody loses anything', () => {
    expect(formerAfter(claim({}), { [a]: '0' }, nobody)).to.equal(undefined);
    expect(formerAfter(claim({ [b]: '0' }, 'a'), { [b]: '2' }, nobody)).to.equal(undefined);
    expect(formerAfter(claim({}), { [a]: null }, nobody), 'it had none').to.equal(undefined);
  });

  it('are forgotten once they have let go', () => {
    const hasLetGo = (name: string) => name === 'a';
    const write = { [c]: null, [b]: '0' };
    expect(formerAfter(claim({ [c]: '0' }, 'a'), write, hasLetGo)).to.equal('c');
    expect(formerAfter(claim({ [b]: '0' }, 'a'), { [b]: '2' }, hasLetGo)).to.equal(null);
  });

  it('are all nodes where the claim was anycast, and none while it is', () => {
    const anycast = { [ANYCAST_LABEL]: '', [a]: '0' };
    expect(formerAfter(claim(anycast), { [ANYCAST_LABEL]: null }, nobody)).to.equal('*');
    const both = { [a]: null, [b]: '0' };
    expect(formerAfter(claim({ [a]: '0' }, '*'), both, nobody), 'beside names').to.equal('*,a');
    expect(formerAfter(claim({ [b]: '0' }, '*,a'), { [b]: '2' }, nobody)).to.equal(undefined);
    const haveAllButA = (name: string) => name === '*';
    expect(formerAfter(claim({ [b]: '0' }, '*,a'), { [b]: '2' }, haveAllButA)).to.equal('a');
    const isOver = () => true;
    expect(formerAfter(claim({ [a]: '0' }, '*'), { [a]: null, [b]: '0' }, isOver)).to.equal('a');
    expect(formerAfter(claim({ [a]: '0' }, 'b'), { [ANYCAST_LABEL]: '' }, nobody)).to.equal(null);
    expect(formerAfter(claim(anycast), { [a]: null }, nobody)).to.equal(undefined);
  });

  it('are known by their label, however long their name is', () => {
    const long = `${'x'.repeat(80)}.example`;
    const written = formerAfter(
      claim({ [nodeLabel(long)]: '0' }),
      { [nodeLabel(long)]: null },
      nobody,
    );
    const annotations = { [FORMER]: String(written) };
    expect(isFormerNode(annotations, long)).to.equal(true);
    expect(isFormerNode(annotations, 'a')).to.equal(false);
    expect(isFormerNode({ [FORMER]: '*' }, 'a')).to.equal(true);
    expect(formerNodes({}).size).to.equal(0);
  });
});
