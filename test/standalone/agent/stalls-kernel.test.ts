/**
 * Addresses that come and go on the machine without a pause, as where a proxy in IPVS mode writes thousands of them. The judge is BIRD, with
 * a hold time of three seconds: a main thread that stands still for longer costs the session.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AgentLab, claim, NODE_ADDRESS, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';
const HOLD_MS = 3000;
const quick = { holdSeconds: HOLD_MS / 1000, keepaliveSeconds: 1, connectRetrySeconds: 1 };
const THERE = 5000;
const CHURN = 500;

/** Adds and deletes for as long as it lives. */
const CHURNER = 'while :; do ip -force -batch "$0" >/dev/null 2>&1; done';

describe('standalone: addresses that come and go stall no agent', function () {
  this.timeout(180_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('churn');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  it('500 of 5,500 without a pause: the session lives, no turn is long, and claims are bound when it is over', async () => {
    const file = (name: string, lines: readonly string[]) => {
      const path = join(lab.node.folder, name);
      writeFileSync(path, `${lines.join('\n')}\n`);
      return path;
    };
    const host = (net: number, n: number) => `10.${net}.${n >> 8}.${n & 255}/32 dev lo`;
    const range = (net: number, count: number) =>
      Array.from({ length: count }, (_, n) => host(net, n));
    const adding = (each: string) => `address add ${each}`;
    const there = file('there', range(100, THERE).map(adding));
    const churned = range(200, CHURN);
    const churn = file('churn', [
      ...churned.map(adding),
      ...churned.map((each) => `address delete ${each}`),
    ]);
    await lab.node.exec('ip', ['-batch', there]);
    const bound = { bind: { interface: 'lo' } };
    lab.write({ 'all.yaml': [peer({ timers: quick }), pool(), claim(VIP, bound)] });
    lab.ready(true);
    lab.start(['--metrics-address', `${NODE_ADDRESS}:9179`]);
    await lab.announces([VIP]);
    const since = await lab.upSince();
    const before = await kernelTurns(lab);
    const churner = lab.node.spawn('churn', 'sh', ['-c', CHURNER, churn]);
    const second = '198.51.100.11';
    try {
      await pause(5 * HOLD_MS);
      expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
        since,
        SAME_SESSION_MS,
      );
      expect((await kernelTurns(lab)) - before, 'turns over 200 ms').to.be.lessThan(3);
      lab.write({ 'two.yaml': [claim(second, bound)] });
    } finally {
      await churner.kill();
    }
    await lab.announces([VIP, second]);
    await untilValue(
      'both are bound',
      async () => await lab.addressesOn('lo'),
      (on) => on.includes(VIP) && on.includes(second),
    );
  });
});

/** of the kernel and of decisions, both of which ask the kernel */
async function kernelTurns(lab: AgentLab): Promise<number> {
  const { stdout } = await lab.routerHost.exec('curl', [
    '-s',
    `http://${NODE_ADDRESS}:9179/metrics`,
  ]);
  const counts = stdout.matchAll(/^herald_long_turns_total\{work="(?:kernel|deciding)"\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
