import { expect } from 'chai';
import { choose, mend, parseVerb } from '../../../src/demo/verbs.ts';
import { nodeOf } from './scenes.ts';

describe('the verbs of the demo', () => {
  it('go both ways', () => {
    const orderOf = (...args: Parameters<typeof choose>) => {
      const choice = choose(...args);
      return choice.kind === 'order' ? choice.order : choice.sentence;
    };
    expect(orderOf('drain', nodeOf(1))).to.deep.equal({ kind: 'drain', id: 1 });
    expect(orderOf('drain', nodeOf(1, { isDraining: true }))).to.deep.equal({
      kind: 'undrain',
      id: 1,
    });
    expect(orderOf('freeze', nodeOf(2))).to.deep.equal({ kind: 'freeze', id: 2 });
    expect(orderOf('freeze', nodeOf(2, { power: 'frozen' }))).to.deep.equal({
      kind: 'thaw',
      id: 2,
    });
    expect(orderOf('kill', nodeOf(3))).to.deep.equal({ kind: 'kill', id: 3 });
    expect(orderOf('kill', nodeOf(3, { power: 'dead' }))).to.deep.equal({ kind: 'revive', id: 3 });
    expect(orderOf('api', nodeOf(1))).to.deep.equal({ kind: 'api-down', id: 1 });
    expect(orderOf('api', nodeOf(1, { isApiUp: false }))).to.deep.equal({ kind: 'api-up', id: 1 });
  });

  it('are refused with a sentence where they make no sense', () => {
    expect(choose('drain', nodeOf(1, { power: 'frozen' }))).to.deep.equal({
      kind: 'refused',
      sentence: 'node-1 is frozen and hears nothing; thaw it first',
    });
    expect(choose('freeze', nodeOf(1, { power: 'dead' }))).to.have.property('kind', 'refused');
    expect(parseVerb('reboot')).to.equal(undefined);
    expect(parseVerb(7)).to.equal(undefined);
  });

  it('mend a machine whatever was done to it', () => {
    const kinds = (...args: Parameters<typeof mend>) => mend(...args).map(({ kind }) => kind);
    expect(kinds(nodeOf(1))).to.deep.equal([]);
    expect(kinds(nodeOf(1, { power: 'dead', isApiUp: false, isDraining: true }))).to.deep.equal([
      'revive',
    ]);
    expect(kinds(nodeOf(1, { power: 'frozen' }))).to.deep.equal(['thaw']);
    expect(kinds(nodeOf(1, { isApiUp: false, isDraining: true }))).to.deep.equal([
      'api-up',
      'undrain',
    ]);
  });
});
