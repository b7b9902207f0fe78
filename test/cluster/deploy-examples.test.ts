/** deploy/examples do what they show: all of them applied to one cluster, every Service in them gets its address from a real controller. */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAddress } from 'bgp-ts';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { formatClaimName } from '../../src/model/claim-name.ts';
import { NAMESPACE } from '../../src/model/names.ts';
import { IP_CLAIMS, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { field, items, text } from '../interop/routers/json.ts';
import { untilValue } from '../support/poll.ts';
import { at, type Cluster, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENTS = globSync('deploy/examples/*.yaml', { cwd: ROOT })
  .toSorted()
  .flatMap((file) => loadAll(readFileSync(join(ROOT, file), 'utf8')));

const nameOf = (document: unknown) => ({
  name: text(field(document, 'metadata', 'name')),
  namespace: text(field(document, 'metadata', 'namespace')) || 'default',
});
const ofKind = (kind: string) =>
  DOCUMENTS.filter((document) => field(document, 'kind') === kind).map(nameOf);

describe('deploy/examples, with a controller', function () {
  this.timeout(180_000);
  let cluster: Cluster;
  let controller: HeraldRun | undefined;

  before(async function () {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyKustomization(join(ROOT, 'deploy/base'));
    await cluster.kubectl(['apply', '-f', join(ROOT, 'deploy/examples')]);
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    controller = startHerald(['controller', '--metrics-address=off'], {
      ...{ name: 'controller', folder: cluster.folder, kubeconfig },
    });
  });

  after(async () => {
    await controller?.kill();
    await cluster?.stop();
  });

  for (const { name, namespace } of ofKind('Service')) {
    it(`give Service ${name} an address that is claimed for it`, async () => {
      const addressesOf = async (): Promise<readonly string[]> => {
        const service = await cluster.api.get(inNamespace(SERVICES, namespace), name);
        const ingress = items(at(service, 'status', 'loadBalancer', 'ingress'));
        const addresses = [
          ...ingress.map((each) => text(field(each, 'ip'))),
          ...items(at(service, 'spec', 'externalIPs')).map(text),
        ];
        return addresses.map((each) => claimNameOf(each));
      };
      const claimsOf = async (): Promise<readonly string[]> =>
        (await cluster.api.list(IP_CLAIMS)).items
          .filter((claim) =>
            items(at(claim, 'spec', 'services')).some((each) => field(each, 'name') === name),
          )
          .map((claim) => claim.metadata.name);
      await untilValue(
        `an address of ${name}, and its claim`,
        async () => ({ addresses: await addressesOf(), claims: await claimsOf() }),
        ({ addresses, claims }) =>
          addresses.length > 0 && `${addresses.toSorted()}` === `${claims.toSorted()}`,
        { timeoutMs: 60_000 },
      );
    });
  }

  it('have Services, and a claim by hand that stays', async () => {
    expect(ofKind('Service').length).to.be.above(5);
    const byHand = ofKind('IPClaim');
    expect(byHand).to.have.lengthOf(1);
    for (const { name } of byHand) await cluster.api.get(IP_CLAIMS, name);
  });
});

function claimNameOf(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatClaimName(address);
}
