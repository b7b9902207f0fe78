import { expect } from 'chai';
import { ReleasePace } from '../../../../src/agent/kube-report/release-pace.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

class Scene {
  nowMs = 0;
  readonly pace = new ReleasePace(new SeededRandom(1), 0);

  /** these release; how long until there is an answer for one of them */
  delayMs(...namespaces: readonly string[]): number {
    this.pace.see(new Set(namespaces), this.nowMs);
    return this.pace.delayMs(this.nowMs);
  }

  /** answered at the moment in which it is due */
  answer(...namespaces: readonly string[]): number {
    const delayMs = this.delayMs(...namespaces);
    this.nowMs += delayMs;
    this.pace.take(this.nowMs);
    this.pace.answered();
    return delayMs;
  }
}

describe('the pace of answers to releases', () => {
  it('a namespace has three, then one in 20 s, and keeps no other one from its own', () => {
    const scene = new Scene();
    for (let turn = 0; turn < 3; turn += 1) expect(scene.answer('b')).to.be.within(500, 2500);
    expect(scene.delayMs('b')).to.be.within(12_000, 20_000);
    expect(scene.delayMs('b', 'a')).to.be.within(500, 2500);
  });

  it('one answer is for all that wait, and each of them pays', () => {
    const scene = new Scene();
    for (let turn = 0; turn < 3; turn += 1) scene.answer('b', 'c', 'd');
    // or three namespaces would have three times as many
    for (const each of ['b', 'c', 'd']) {
      expect(scene.delayMs(each), each).to.be.within(12_000, 20_000);
    }
  });

  it('all namespaces together have six, then one in 10 s', () => {
    const scene = new Scene();
    for (let turn = 0; turn < 6; turn += 1) {
      expect(scene.answer(`b-${turn}`)).to.be.within(500, 2500);
    }
    for (let turn = 0; turn < 6; turn += 1) {
      expect(scene.answer(`c-${turn}`)).to.be.at.most(10_000);
    }
    expect(scene.nowMs).to.be.within(60_000, 72_000);
  });

  it('remembers a thousand namespaces at most, and none that has all its answers again', () => {
    const scene = new Scene();
    const many = Array.from({ length: 5000 }, (_, index) => `b-${index}`);
    scene.answer(...many);
    expect(scene.pace.size).to.equal(1000);
    scene.nowMs += 60_000;
    scene.answer('a');
    expect(scene.pace.size).to.equal(1);
  });
});
