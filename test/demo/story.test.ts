/** The story without a terminal: what `make demo` and `make demo BREAK=hold` run, without root. */

import { expect } from 'chai';
import { DemoRun, program, root, unprivileged } from './run-demo.ts';

const STEPS = 8;
const BROKEN_STEP = 5;
const START_MS = 60_000;

describe('herald demo without a terminal', () => {
  let run: DemoRun;

  function start(...args: readonly string[]): void {
    run = new DemoRun([...unprivileged(), program, 'demo', ...args]);
  }

  afterEach(() => run.clear());

  it('exits 0 when every step was seen at the router, and leaves nothing behind', async function () {
    this.timeout(240_000);
    start();
    const status = await run.ended();
    for (let step = 1; step <= STEPS; step += 1) {
      expect(run.output).to.match(new RegExp(`step ${step}/${STEPS} ok: `));
    }
    expect(status, run.output).to.equal(0);
    expect(run.output).to.include('every step was seen at the router');
    const [, took] = /\[ *([\d.]+) s\] every step/.exec(run.output) ?? [];
    expect(Number(took), 'seconds, about 40').to.be.within(20, 120);
    // the freeze cannot go unnoticed by the client, or nobody was asked
    expect(Number(/(\d+) lost/.exec(run.output)?.[1])).to.be.within(5, 200);
    await run.leavesNothing();
  });

  it('exits 1 with a router that never expires, and names the step', async function () {
    this.timeout(120_000);
    start('--break', 'hold', '--speed', '4', '--no-web');
    const status = await run.ended();
    expect(status, run.output).to.equal(1);
    expect(run.output).to.include(`step ${BROKEN_STEP - 1}/${STEPS} ok: `);
    expect(run.output).to.match(
      /step 5\/8 FAILED, not seen at the router: A machine freezes: not seen within 4.50 s/,
    );
    expect(run.output).not.to.include(`step ${BROKEN_STEP + 1}/`);
    await run.leavesNothing();
  });

  it('`make demo BREAK=hold` ends in an error: status 1 of the demo, which GNU make reports and turns into its own 2', async function () {
    this.timeout(120_000);
    const flags = 'DEMO=--no-web --speed 4';
    run = new DemoRun(['make', '-C', root, 'demo', 'BREAK=hold', flags]);
    const status = await run.ended();
    expect(run.output, run.output).to.match(/step 5\/8 FAILED/);
    expect(run.output).to.match(/make.*demo\] Error 1/);
    expect(status).to.equal(2);
    await run.leavesNothing();
  });

  it('leaves nothing behind when it is killed in the middle', async function () {
    this.timeout(120_000);
    start('--no-web');
    await run.says(/the route of node-1 is at the router/, START_MS);
    run.process.kill('SIGKILL');
    await run.leavesNothing();
  });

  it('ends at SIGTERM, with status 1: the story was not seen', async function () {
    this.timeout(120_000);
    start('--no-web');
    await run.says(/step 1\/8: /, START_MS);
    run.process.kill('SIGTERM');
    expect(await run.ended()).to.equal(1);
    await run.leavesNothing();
  });

  for (const [args, sentence] of [
    [['--break', 'glass'], "--break 'glass' is not known; there is: hold"],
    [['--speed', '0'], "--speed '0' is not a number from 0.1 to 100"],
    [['--http', 'nowhere'], "--http 'nowhere' is not ADDRESS:PORT"],
    [['--http', '127.0.0.1:0', '--no-web'], '--http and --no-web contradict each other'],
    [['--sped', '2'], "unknown flag '--sped'"],
  ] as const) {
    it(`exits 2 for ${args.join(' ')}`, async function () {
      this.timeout(120_000);
      start(...args);
      expect(await run.ended()).to.equal(2);
      expect(run.output).to.include(`herald demo: ${sentence}`);
    });
  }

  it('exits 1 with a sentence when the port of the page is taken', async function () {
    this.timeout(120_000);
    start();
    const taken = await run.says(/http:\/\/(127\.0\.0\.1:\d+)\//, START_MS);
    const second = new DemoRun([program, 'demo', '--http', taken]);
    expect(await second.ended()).to.equal(1);
    expect(second.output).to.include(`the page cannot be served on ${taken}: EADDRINUSE`);
    await second.leavesNothing();
    await second.clear();
  });
});
