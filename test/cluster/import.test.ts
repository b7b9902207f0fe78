/**
 * `herald import` on a real API server: what it prints for each input of the corpus is accepted, by `kubectl apply --dry-run=server`; and read from the API it is the
 * same as read from files. The other balancers' kinds are there with any content.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { heraldProgram } from '../standalone/support/herald-program.ts';
import { done, notYet, until } from '../support/poll.ts';
import { run } from '../support/process.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const FOLDER = join(import.meta.dirname, '../src/import/fixtures');
const INPUTS = readdirSync(FOLDER).filter((name) => !name.endsWith('.expected.yaml'));
const ORIGINS = ['metallb', 'kube-vip', 'external'] as const;

const originOf = (name: string) =>
  name.startsWith('external')
    ? 'externalipcontroller'
    : (ORIGINS.find((each) => name.startsWith(each)) ?? '');

/** a kind of somebody else: whatever stands in it */
const crd = (
  group: string,
  kind: string,
  versions: readonly string[],
  plural = `${kind.toLowerCase()}s`,
) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: group === 'metallb.io' ? 'Namespaced' : 'Cluster',
    names: { kind, plural },
    versions: versions.map((name, index) => ({
      name,
      served: true,
      storage: index === versions.length - 1,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    })),
  },
});

const CRDS = [
  crd('metallb.io', 'IPAddressPool', ['v1beta1']),
  crd('metallb.io', 'BGPPeer', ['v1beta1', 'v1beta2']),
  crd('metallb.io', 'BGPAdvertisement', ['v1beta1']),
  crd('metallb.io', 'L2Advertisement', ['v1beta1']),
  crd('metallb.io', 'Community', ['v1beta1'], 'communities'),
  crd('metallb.io', 'BFDProfile', ['v1beta1']),
  crd('ipcontroller.ext', 'IpClaimPool', ['v1']),
  crd('ipcontroller.ext', 'IpClaim', ['v1']),
  crd('ipcontroller.ext', 'IpNode', ['v1']),
];

describe('herald import and a cluster', function () {
  this.timeout(600_000);
  let cluster: Cluster;

  const herald = (args: readonly string[]) =>
    run(heraldProgram(), ['import', ...args], {
      env: { KUBECONFIG: cluster.kubeconfig, HOME: cluster.folder },
      anyStatus: true,
      timeoutMs: 120_000,
    });

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyObjects(...CRDS);
    for (const name of ['metallb-system', 'shop'])
      await cluster.kubectl(['create', 'namespace', name]);
  });
  after(() => cluster?.stop());

  for (const name of INPUTS) {
    it(`prints for ${name} what the API server accepts`, async () => {
      const { status, stdout, stderr } = await herald([originOf(name), '-f', join(FOLDER, name)]);
      expect(status, stderr).to.equal(0);
      expect(stdout).to.equal(
        readFileSync(join(FOLDER, name.replace('.yaml', '.expected.yaml')), 'utf8'),
      );
      const dry = await cluster.kubectl(['apply', '--dry-run=server', '-f', '-'], stdout);
      expect(dry.stdout.trim().split('\n')).to.have.lengthOf(stdout.split('\n---\n').length - 1);
      // a CIDR that is masked would be a warning
      expect(dry.stderr).to.equal('');
    });
  }

  it('reads the same from the API as from files', async () => {
    await cluster.kubectl(['apply', '-f', join(FOLDER, 'metallb-kinds.yaml')], '');
    const fromFile = await herald(['metallb', '-f', join(FOLDER, 'metallb-kinds.yaml'), '--json']);
    const fromApi = await until('all kinds are served', async () => {
      const answer = await herald(['metallb', '--json']);
      return answer.status === 0 ? done(answer) : notYet(answer.stderr);
    });
    const made = (text: string): unknown => JSON.parse(text);
    const sorted = (value: unknown) => JSON.stringify(value).split('').toSorted().join('');
    // the order of objects is the API's own
    expect(sorted(made(fromApi.stdout))).to.equal(sorted(made(fromFile.stdout)));
  });

  it('finds the ConfigMap and the DaemonSet of kube-vip, and pools of External IP Controller', async () => {
    await cluster.kubectl(['apply', '-f', join(FOLDER, 'kube-vip-plndr.yaml')]);
    const vip = await herald(['kube-vip']);
    expect(vip.status, vip.stderr).to.equal(0);
    expect(vip.stdout).to.include('name: cidr-plunder');
    await cluster.kubectl(
      ['apply', '-f', '-'],
      [
        'apiVersion: ipcontroller.ext/v1',
        'kind: IpClaimPool',
        'metadata: {name: whole}',
        'spec: {cidr: 10.0.0.0/24}',
      ].join('\n'),
    );
    const external = await herald(['externalipcontroller']);
    expect(external.status, external.stderr).to.equal(0);
    expect(external.stdout).to.include('name: whole');
  });

  it('says that there is nothing, with status 1, and what is wrong usage, with 2', async () => {
    const empty = await run(heraldProgram(), ['import', 'metallb', '-f', '-'], {
      input: 'a: 1\n',
      anyStatus: true,
      timeoutMs: 120_000,
    });
    expect(empty.status).to.equal(1);
    expect(empty.stderr).to.include('nothing of metallb was found');
    expect((await herald(['calico'])).status).to.equal(2);
    const missing = await herald(['metallb', '-f', '/nowhere.yaml']);
    expect(missing.status).to.equal(2);
    expect(missing.stderr).to.include('there is no such file');
  });
});
