import { expect } from 'chai';
import { turnWorld } from '../../../src/cli/turn-world.ts';
import type { Log, LogFields } from '../../../src/log/log.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { TurnWatch } from '../../../src/turns/turn-watch.ts';
import { labelled } from '../../../src/turns/work-labels.ts';
import { untilValue } from '../../support/poll.ts';

/** A main thread that is idle or busy as it is told. */
class Thread {
  nowMs = 0;
  idleMs = 0;
  cpuMs = 0;
  #due = 0;
  #periodMs = 0;
  #work: () => void = () => undefined;

  readonly world = {
    now: () => this.nowMs,
    idleMs: () => this.idleMs,
    cpuMs: () => this.cpuMs,
    every: (periodMs: number, work: () => void) => {
      this.#periodMs = periodMs;
      this.#due = this.nowMs + periodMs;
      this.#work = work;
      return () => {
        this.#work = () => undefined;
      };
    },
  };

  rest(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.#due <= untilMs) {
      this.idleMs += this.#due - this.nowMs;
      this.nowMs = this.#due;
      this.#fire();
    }
    this.idleMs += untilMs - this.nowMs;
    this.nowMs = untilMs;
  }

  busy(ms: number, cpuMs = ms): void {
    this.nowMs += ms;
    this.cpuMs += cpuMs;
    if (this.#due <= this.nowMs) this.#fire();
  }

  #fire(): void {
    this.#work();
    this.#due = this.nowMs + this.#periodMs;
  }
}

function rig() {
  const lines: { readonly level: string; readonly fields: LogFields }[] = [];
  const log: Log = {
    ...SILENT_LOG,
    warn: (event, fields) => lines.push({ level: `warn ${event}`, fields }),
  };
  const thread = new Thread();
  const watch = new TurnWatch(thread.world, log);
  watch.start();
  return { lines, thread, watch };
}

describe('TurnWatch', () => {
  it('finds nothing in a thread that does its work in short turns', () => {
    const { lines, thread, watch } = rig();
    for (let n = 0; n < 100; n += 1) {
      thread.busy(30);
      thread.rest(20);
    }
    expect(lines).to.deep.equal([]);
    expect([...watch.long]).to.deep.equal([]);
    expect(watch.longestSeconds()).to.be.below(0.1);
  });

  for (const restMs of [0, 10, 25, 49]) {
    it(`counts a turn of 200 ms that begins ${restMs} ms after the last look, and one of 140 ms not`, () => {
      const { lines, thread, watch } = rig();
      thread.rest(500 + restMs);
      thread.busy(140);
      thread.rest(500 + restMs);
      expect(lines).to.have.length(0);
      thread.busy(200);
      thread.rest(500);
      expect(watch.long.get('other')).to.equal(1);
      expect(watch.longestSeconds()).to.be.closeTo(0.2, 0.001);
      expect(lines).to.have.length(1);
      expect(lines[0]?.fields).to.include({ ms: 200, cpuMs: 200, work: 'other', turns: 1 });
    });
  }

  it('does not blame a process that was frozen while it had nothing to do', () => {
    const { lines, thread, watch } = rig();
    thread.rest(10);
    thread.nowMs += 5000;
    thread.idleMs += 5000;
    thread.rest(500);
    expect(lines).to.deep.equal([]);
    expect(watch.longestSeconds()).to.be.below(0.05);
  });

  it('logs the first at once, then the longest of each minute with the number of them', () => {
    const { lines, thread, watch } = rig();
    thread.busy(250);
    expect(lines).to.have.length(1);
    for (const ms of [300, 700, 400]) {
      thread.rest(5000);
      thread.busy(ms);
    }
    expect(lines).to.have.length(1);
    thread.rest(60_000);
    expect(lines).to.have.length(2);
    expect(lines[1]?.fields).to.include({ ms: 700, turns: 3 });
    expect(watch.long.get('other')).to.equal(4);
    thread.rest(200_000);
    expect(lines).to.have.length(2);
    expect(watch.longestSeconds(), 'minutes later').to.equal(0);
  });

  it('tells by the CPU time that the machine was busy, not the process', () => {
    const { lines, thread } = rig();
    thread.busy(900, 40);
    expect(lines[0]?.fields).to.include({ ms: 900, cpuMs: 40 });
  });

  it('a real main thread: names the work that took most of a turn, without what runs inside it', async () => {
    const lines: LogFields[] = [];
    const watch = new TurnWatch(turnWorld, {
      ...SILENT_LOG,
      warn: (_event, fields) => lines.push(fields),
    });
    watch.start();
    try {
      labelled('deciding', () => {
        spin(20);
        labelled('sessions', () => spin(300));
      });
      const [line] = await untilValue(
        'the line',
        async () => lines,
        (all) => all.length > 0,
      );
      expect(line).to.include({ work: 'sessions' });
      expect(String(line?.['pieces'])).to.match(/^sessions \d+ ms, deciding \d+ ms$/);
      expect(watch.long.get('sessions')).to.equal(1);
      expect(watch.longestSeconds()).to.be.at.least(0.3);
    } finally {
      watch.stop();
    }
  });

  it('a piece of work that throws is measured, and throws', () => {
    expect(() =>
      labelled('status', () => {
        throw new RangeError('Invalid string length');
      }),
    ).to.throw(RangeError);
  });
});

function spin(ms: number): void {
  for (const startMs = performance.now(); performance.now() - startMs < ms; );
}
