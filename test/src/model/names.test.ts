import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { levelOf, nodeLabel, nodeLease } from '../../../src/model/names.ts';

const LONG = `${'rack-07-'.repeat(9)}node-1`;

describe('names in the cluster', () => {
  it('puts the name of a node into a label as it is while it fits', () => {
    expect(nodeLabel('n1.example.net')).to.equal('node.herald.dev/n1.example.net');
    expect(nodeLease('n1')).to.equal('node-n1');
  });

  it('cuts a longer one at 54 characters and adds 8 hex digits of its SHA-256', () => {
    const digest = createHash('sha256').update(LONG).digest('hex').slice(0, 8);
    expect(nodeLabel(LONG)).to.equal(`node.herald.dev/${LONG.slice(0, 54)}-${digest}`);
    expect(nodeLease(LONG)).to.equal(`node-${LONG.slice(0, 54)}-${digest}`);
  });

  it('gives different nodes different labels, none of them too long', () => {
    const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$/);
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(nodeLabel(a).split('/')[1]?.length).to.be.at.most(63);
        expect(nodeLabel(a) === nodeLabel(b)).to.equal(a === b);
      }),
    );
  });

  it('reads the level of a node from its label, and nothing from the label of another', () => {
    expect(levelOf({ [nodeLabel('n1')]: '0' }, 'n1')).to.equal(0);
    expect(levelOf({ [nodeLabel('n1')]: '1' }, 'n1')).to.equal(1);
    expect(levelOf({ [nodeLabel('n1')]: '2' }, 'n1')).to.equal(2);
    expect(levelOf({ [nodeLabel('n1')]: '' }, 'n1')).to.equal(0);
    expect(levelOf({ [nodeLabel('n2')]: '0' }, 'n1')).to.equal(undefined);
  });
});
