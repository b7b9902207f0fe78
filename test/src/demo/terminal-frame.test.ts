import { expect } from 'chai';
import { frame } from '../../../src/demo/terminal-frame.ts';
import { piece, renderLine, STYLE, wrap } from '../../../src/demo/terminal-text.ts';
import { nodeOf, sceneOf } from './scenes.ts';

const LOOK = { selected: 2, columns: 80, url: 'http://127.0.0.1:45678/' };

function textOf(scene = sceneOf(), options = LOOK): readonly string[] {
  return frame(scene, options).map((line) => renderLine(line, 200, false));
}

describe('the frame of the terminal', () => {
  const { steps } = sceneOf();

  for (const [at, { title }] of steps.entries()) {
    it(`fits 80 by 24 in step ${at + 1}, ${title}, and is as high as the first`, () => {
      const lines = textOf(sceneOf({ step: at, notice: 'something was said' }));
      expect(lines).to.have.length(textOf().length);
      expect(lines.length).to.be.at.most(23);
      for (const line of lines) expect([...line].length, line).to.be.at.most(80);
      const told = lines.slice(2, 8).join(' ').replace(/\s+/g, ' ');
      expect(told).to.include(title).and.include(steps[at]?.text).and.include(steps[at]?.look);
    });
  }

  it('fits when the story is over and when a step has failed', () => {
    const failed = steps.map((step, at) =>
      at === 4
        ? {
            ...step,
            state: 'failed' as const,
            sentence: 'not seen within 4.50 s: the hold timer has removed node-3',
          }
        : step,
    );
    const lines = textOf(
      sceneOf({ mode: 'play', step: 8, steps: failed, notice: 'node-1 was frozen' }),
    );
    expect(lines).to.have.length(textOf().length);
    for (const line of lines) expect([...line].length, line).to.be.at.most(80);
    const text = lines.join('\n');
    expect(text)
      .to.include('NOT seen at the router: A machine freezes')
      .and.include('node-1 was frozen');
    expect(text).to.include('on node-2: d drain');
  });

  it('says of each machine what the router makes of it', () => {
    const nodes = [
      nodeOf(1, { route: 'spare', isDraining: true }),
      nodeOf(2, { power: 'frozen', joined: undefined }),
      nodeOf(3, { power: 'dead', route: 'none', isApiUp: false, isSession: false }),
    ];
    const text = textOf(sceneOf({ nodes }));
    expect(text.find((line) => line.includes('node-1'))).to.match(
      /up +yes +established +◐ draining/,
    );
    expect(text.find((line) => line.includes('▸ node-2'))).to.match(/frozen +\? +frozen +● in use/);
    expect(text.find((line) => line.includes('node-3'))).to.match(/down +yes +dead +○ none/);
    expect(text.join('\n')).to.include('203.0.113.10/32 via 1 next hop ');
  });

  it('marks lost requests by their shape, not by colour alone', () => {
    expect(textOf().join('\n')).to.include(`······${'▮'.repeat(30)}×××▯`);
  });

  it('cuts what is too wide without cutting an escape sequence', () => {
    const line = [piece('abc', 'bad'), piece('defg', 'good')];
    expect(renderLine(line, 5, false)).to.equal('abcde');
    expect(renderLine(line, 2, true)).to.equal(`\x1b[${STYLE.bad}mab\x1b[0m`);
  });

  it('wraps at words', () => {
    expect(wrap('one two three', 7)).to.deep.equal(['one two', 'three']);
    expect(wrap('unbreakable it is', 5)).to.deep.equal(['unbreakable', 'it is']);
  });
});
