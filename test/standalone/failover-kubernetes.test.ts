/**
 * The same with the real kube-apiserver on one of the masters: its `/readyz`, its certificate, its five seconds to readiness. The
 * agent is there long before it, and the address follows it up, down and up again while stand-ins serve on the other two.
 */

import { expect } from 'chai';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { done, notYet, until } from '../support/poll.ts';
import { apiPort, vip, vipPrefix } from './support/addresses.ts';
import { KubeApiServer, kubeApiServerProgram } from './support/kube-api-server.ts';
import { recordBoot } from './support/measurements.ts';
import { Prober } from './support/prober.ts';
import { skipWithoutStandalone } from './support/require-standalone.ts';
import { createTopology, type Topology } from './support/topology.ts';

const buildBoundMs = 30 * 60_000;
const startBoundMs = 60_000;

describe('a real kube-apiserver behind the address', () => {
  let topology: Topology;
  let api: KubeApiServer;

  before(async function () {
    this.timeout(buildBoundMs);
    skipWithoutStandalone(this);
    await kubeApiServerProgram();
    topology = await createTopology({ kind: 'bird' });
    api = await KubeApiServer.prepare(topology.master('m1'));
    await topology.edge.start();
    for (const master of topology.masters) {
      master.writeDocuments({ address: vip });
      master.startAgent();
      if (master.name !== 'm1') master.startApi();
    }
    await topology.routesOf(['m2', 'm3']);
  });

  after(() => topology?.destroy());

  afterEach(function () {
    if (this.currentTest?.state !== 'failed') return;
    process.stderr.write(`${api?.log()}\n${topology?.master('m1').log()}\n`);
  });

  it('is announced when it is ready, taken back when it dies, announced again when it returns', async function () {
    this.timeout(6 * startBoundMs);
    await topology.steady(['m1', 'm2', 'm3']);
    expect(await topology.edge.announcers(vipPrefix)).to.not.include(topology.master('m1').address);

    const startedMs = nowMs();
    api.start();
    await topology.routesOf(['m1', 'm2', 'm3'], vipPrefix, startBoundMs);
    const readyMs = nowMs() - startedMs;
    const prober = await Prober.start(topology.client, {
      address: vip,
      port: apiPort,
      everyMs: 20,
      seconds: 200,
      by: { https: topology.authority.certificate },
    });
    const sinceMs = nowMs();
    await answeredBy(prober, 'm1');
    const steady = await prober.outage(sinceMs, nowMs());
    expect(steady.lost, 'probes lost while all three serve').to.equal(0);

    const killedMs = nowMs();
    await api.kill();
    await topology.routesOf(['m2', 'm3']);
    const goneMs = nowMs() - killedMs;
    // the routes may be gone within a few probes, which one of the two may have had alone
    for (const name of ['m2', 'm3']) await answeredBy(prober, name, killedMs);
    const death = await prober.outage(killedMs, nowMs());
    // how fast it is otherwise is measured in failover.test.ts, several times over; one time may meet a busy machine
    expect(death.outageMs, 'outage in ms').to.be.below(6_500);

    const againMs = nowMs();
    api.start();
    await topology.routesOf(['m1', 'm2', 'm3'], vipPrefix, startBoundMs);
    await answeredBy(prober, 'm1', againMs);
    const returned = await prober.outage(againMs, nowMs());
    await prober.stop();
    expect(returned.lost, 'probes lost by its return').to.equal(0);
    recordBoot({ id: 'kube-apiserver-start', kind: 'bird', times: [readyMs], runs: 1 });
    recordBoot({ id: 'kube-apiserver-death', kind: 'bird', times: [death.outageMs], runs: 1 });
    process.stdout.write(
      `    kube-apiserver: killed to routes gone ${goneMs.toFixed(0)} ms, outage ${death.outageMs.toFixed(0)} ms, ${death.lost} of ${death.sent} probes lost\n`,
    );
  });
});

/** A probe sent after `sinceMs` got its answer from this master. */
async function answeredBy(prober: Prober, name: string, sinceMs = 0): Promise<void> {
  await until(
    `${name} answers`,
    () => {
      const probes = prober.read().filter((probe) => probe.sentMs >= sinceMs);
      return probes.some((probe) => probe.who === name) ? done(true) : notYet(probes.at(-1));
    },
    { everyMs: 50 },
  );
}
