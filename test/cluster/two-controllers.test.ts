/**
 * Two controllers that both lead, which nobody should have (SEEDS A20): real processes without an election, 200 Services. Every address is one Service's at
 * every moment, and nothing is left over.
 */

import { expect } from 'chai';
import type { KubeObject, WatchEvent } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { Bench } from './support/allocation.ts';
import { at, type Cluster } from './support/cluster.ts';
import { FullRun } from './support/full-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const COUNT = 200;

function ingressOf(service: KubeObject): string | undefined {
  const address = at(service, 'status', 'loadBalancer', 'ingress', '0', 'ip');
  return typeof address === 'string' ? address : undefined;
}

/** which Service has which address, event by event */
class Owners {
  readonly twice: string[] = [];
  readonly #owners = new Map<string, string>();

  see(event: WatchEvent): void {
    if (event.kind === 'bookmark') return;
    const { name } = event.object.metadata;
    for (const [each, owner] of this.#owners) if (owner === name) this.#owners.delete(each);
    const address = event.kind === 'deleted' ? undefined : ingressOf(event.object);
    if (address !== undefined) this.#own(address, name);
  }

  #own(address: string, name: string): void {
    const other = this.#owners.get(address);
    if (other !== undefined) this.twice.push(`${address}: ${other} and ${name}`);
    this.#owners.set(address, name);
  }
}

describe('two controllers that both lead', function () {
  this.timeout(480_000);
  let world: FullRun;
  let cluster: Cluster;
  let bench: Bench;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start([]);
    cluster = world.cluster;
    bench = new Bench(cluster, await cluster.namespace());
    await bench.pool('lab', ['10.0.0.0/24']);
    for (const name of ['one', 'two']) await world.controller(name, ['--leader-elect=false']);
    for (const each of world.controllers.values()) {
      const loopsRun = ({ msg }: Readonly<Record<string, unknown>>) => msg === 'the loops run';
      await each.logged('its loops run', loopsRun, { timeoutMs: 60_000 });
    }
  });

  after(() => world?.stop());

  /** Which Service has which address, event by event; what was two Services' at once. */
  async function watchAddresses(): Promise<{ stop(): string[] }> {
    const resource = inNamespace(SERVICES, bench.namespace);
    const { resourceVersion } = await cluster.api.list(resource);
    const ending = new AbortController();
    const owners = new Owners();
    void cluster.api.watch(resource, {
      signal: ending.signal,
      timeoutSeconds: 600,
      resourceVersion,
      onEvent: (event) => owners.see(event),
    });
    return {
      stop: () => {
        ending.abort();
        return owners.twice;
      },
    };
  }

  it(`give ${COUNT} Services ${COUNT} addresses, none of them twice, and take all of them back`, async () => {
    const watching = await watchAddresses();
    const names = Array.from({ length: COUNT }, (_, index) => `s${index}`);
    await Promise.all(names.map((name) => bench.service(name)));
    await bench.exact(COUNT, 120_000);
    const half = names.filter((_, index) => index % 2 === 0);
    await Promise.all(
      half.map(async (name) => {
        await bench.deleteService(name);
        await bench.service(`${name}-again`);
      }),
    );
    await bench.exact(COUNT, 120_000);
    const all = (await bench.services()).map(({ metadata }) => metadata.name);
    await Promise.all(all.map((name) => bench.deleteService(name)));
    await bench.exact(0, 120_000);
    expect(watching.stop()).to.deep.equal([]);
    expect((await cluster.api.list(IP_CLAIMS)).items).to.deep.equal([]);
    for (const each of world.controllers.values()) expect(each.isRunning).to.equal(true);
    // both have had their hands in it, else this proves nothing
    const creations = cluster
      .audit()
      .filter(({ verb, resource }) => verb === 'create' && resource === 'ipclaims');
    expect(
      creations.some(({ code }) => code === 409),
      'they met',
    ).to.equal(true);
  });
});
