/**
 * What the client of these tests calls lost, and what a connection whose way changed. One run of a fail-over has two changes of the ways and seldom a
 * connection between them; here the router's kernel changes them hundreds of times, by hand, under a client that opens two connections in the time of a change.
 */

import { expect } from 'chai';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { done, notYet, until } from '../support/poll.ts';
import { apiPort, vip } from './support/addresses.ts';
import { Prober } from './support/prober.ts';
import { skipWithoutStandalone } from './support/require-standalone.ts';
import { createTopology, type Topology } from './support/topology.ts';

/** Not longer: the client would take its ports again, some of which a server still has open since their way changed. */
const measuredMs = 8_000;
const changeEverySeconds = 0.004;

describe('the probing client, while ways change', () => {
  let topology: Topology;

  before(async function () {
    this.timeout(60_000);
    skipWithoutStandalone(this);
    topology = await createTopology({ kind: 'bird' });
    for (const { host } of topology.masters) await host.ip(`address add ${vip}/32 dev lo`);
    for (const master of topology.masters) master.startApi();
    await topology.routerHost.ip(ways(topology.masters));
  });

  after(() => topology?.destroy());

  it('finds connections that were reset, and loses none', async function () {
    this.timeout(60_000);
    const target = { address: vip, port: apiPort, seconds: 40 };
    const first = await Prober.start(topology.client, { ...target, everyMs: 50 });
    await until('all three answer', () => {
      const answering = new Set(first.read().map(({ who }) => who));
      const isEach = topology.masters.every(({ name }) => answering.has(name));
      return isEach ? done(true) : notYet([...answering]);
    });
    await first.stop();
    const prober = await Prober.start(topology.client, { ...target, everyMs: 2 });
    const all = ways(topology.masters);
    const fewer = ways(topology.masters.slice(1));
    const loop = `while sleep ${changeEverySeconds}; do echo "${fewer}"; sleep ${changeEverySeconds}; echo "${all}"; done | ip -batch -`;
    const changes = topology.routerHost.spawn('changes', 'bash', ['-c', loop]);
    const sinceMs = nowMs();
    const outage = await until(
      'enough probes are decided',
      async () =>
        nowMs() - sinceMs < measuredMs ? notYet('') : done(await prober.outage(sinceMs, nowMs())),
      { timeoutMs: measuredMs + 10_000 },
    );
    await Promise.all([changes.stop(), prober.stop()]);
    process.stdout.write(`    ${outage.sent} probes, ${outage.resets} resets\n`);
    expect(outage.reasons, 'lost').to.deep.equal({});
    expect(outage.resets, 'resets').to.be.above(5);
  });
});

const ways = (masters: Topology['masters']): string =>
  [`route replace ${vip}/32`, ...masters.map(({ address }) => `nexthop via ${address}`)].join(' ');
