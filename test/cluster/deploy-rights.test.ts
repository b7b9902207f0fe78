/**
 * Who may do what, asked of a real API server with the tokens that pods have: an agent writes its own IPNode and Lease and nothing else, the
 * admission policy stands even where RBAC would allow more, the controller reads no Secret, people get what their role says.
 */

import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { API_VERSION, NAMESPACE, nodeLease } from '../../src/model/names.ts';
import { ApiError, type Resource } from '../../src/sources/kube/api.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  LEASES,
  NODES,
  SECRETS,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { done, notYet, until } from '../support/poll.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { pathOf, type TestApi } from './support/test-api.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
/** 70 characters: over the 63 that a label's name may have */
const LONG = `${'long-name-of-a-node-'.repeat(3)}a.example.net`;
const BINDINGS: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterrolebindings',
};

const ipNode = (name: string) => ({ apiVersion: API_VERSION, kind: 'IPNode', metadata: { name } });
const lease = (name: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name },
  spec: { holderIdentity: name, leaseDurationSeconds: 15 },
});
const claim = (name: string) => ({
  apiVersion: API_VERSION,
  kind: 'IPClaim',
  metadata: { name },
  spec: {},
});
const pool = { apiVersion: API_VERSION, kind: 'IPPool', metadata: { name: 'p' } };
const status = { kind: 'merge', body: { status: { routes: 1 } } } as const;
const toStatus = { subresource: 'status' } as const;

/** '' when it was allowed, else what the server said; anything but 403 throws */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return error.message;
    throw error;
  }
  return '';
}

const allowed = async (call: Promise<unknown>) => expect(await refusal(call)).to.equal('');

const BY_RBAC = /User "system:serviceaccount:herald-system:[a-z-]+" cannot /;
const UNBOUND = "an agent's token must be bound to a node";
const BY_POLICY = 'the agent of node n1 may write the IPNode and the Lease of that node only, not';

describe('the rights that deploy/base gives', function () {
  this.timeout(120_000);
  let cluster: Cluster;
  let agent: TestApi;
  let unbound: TestApi;
  let controller: TestApi;

  const as = async (name: string, node?: string): Promise<TestApi> => {
    const options = node === undefined ? {} : { boundToNode: node };
    return cluster.apiAs(await cluster.serviceAccountKubeconfig(NAMESPACE, name, options));
  };

  before(async function () {
    this.timeout(30 * 60_000);
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.applyKustomization(BASE);
    for (const name of ['n1', 'n2']) await cluster.addNode(name);
    // as kubelets do: the host name is cut to fit into a label
    await cluster.addNode(LONG, { labels: { 'kubernetes.io/hostname': 'long' } });
    agent = await as('herald-agent', 'n1');
    unbound = await as('herald-agent');
    controller = await as('herald-controller', 'n1');
    const secret = { metadata: { name: 'tor' }, stringData: { password: 'wine' } };
    await cluster.api.create(SECRETS, secret);
    await cluster.api.create(inNamespace(SECRETS, 'default'), secret);
    for (const name of ['n2', 'n3']) await cluster.api.create(IP_NODES, ipNode(name));
    for (const name of ['node-n2', 'herald-controller']) {
      await cluster.api.create(LEASES, lease(name));
    }
    await cluster.api.create(IP_CLAIMS, claim('192.0.2.7'));
    await until('the admission policy is in force', async () => {
      const dry = { method: 'POST', path: pathOf(IP_NODES), query: { dryRun: 'All' } };
      const said = await refusal(unbound.call({ ...dry, body: ipNode('n9') }));
      return said.includes(UNBOUND) ? done(true) : notYet(said || 'it was let through');
    });
    await until('the roles are in force', async () => {
      const calls = [
        agent.list(IP_CLAIMS),
        agent.get(SECRETS, 'tor'),
        controller.list(IP_CLAIMS),
        controller.get(LEASES, 'herald-controller'),
      ];
      const said = (await Promise.all(calls.map(refusal))).join('');
      return said === '' ? done(true) : notYet(said);
    });
  });

  after(async () => await cluster?.stop());

  describe('an agent, with the token of its pod on n1', () => {
    it('writes its own IPNode and its status', async () => {
      await allowed(agent.create(IP_NODES, ipNode('n1')));
      await allowed(agent.patch(IP_NODES, 'n1', status, toStatus));
      await allowed(agent.get(IP_NODES, 'n1'));
    });

    it('writes its own Lease', async () => {
      const made = await agent.create(LEASES, lease('node-n1'));
      await allowed(agent.update(LEASES, 'node-n1', { ...made, spec: { holderIdentity: 'n1' } }));
    });

    it("does not write another node's IPNode, nor its status", async () => {
      expect(await refusal(agent.create(IP_NODES, ipNode('n4')))).to.contain(BY_POLICY);
      expect(await refusal(agent.patch(IP_NODES, 'n2', status, toStatus))).to.contain(
        `${BY_POLICY} ipnodes/n2.`,
      );
    });

    it("does not write another node's Lease, nor the controller's", async () => {
      expect(await refusal(agent.create(LEASES, lease('node-n3')))).to.contain(BY_POLICY);
      for (const name of ['node-n2', 'herald-controller']) {
        const { metadata } = await cluster.api.get(LEASES, name);
        const body = { ...lease(name), metadata };
        const said = await refusal(agent.update(LEASES, name, body));
        expect(said).to.contain(`${BY_POLICY} leases/${name}.`);
      }
    });

    it('writes no claim, pool, peer, Service or Node', async () => {
      const label = { kind: 'merge', body: { metadata: { labels: { a: 'b' } } } } as const;
      const services = inNamespace(SERVICES, 'default');
      const calls = [
        agent.create(IP_CLAIMS, claim('192.0.2.8')),
        agent.patch(IP_CLAIMS, '192.0.2.7', label),
        agent.patch(IP_CLAIMS, '192.0.2.7', status, toStatus),
        agent.delete(IP_CLAIMS, '192.0.2.7'),
        agent.create(IP_POOLS, { ...pool, spec: { addresses: ['192.0.2.0/24'] } }),
        agent.patch(BGP_PEERS, 'tor', label),
        agent.patch(services, 'kubernetes', label),
        agent.patch(services, 'kubernetes', { kind: 'merge', body: { status: {} } }, toStatus),
        agent.patch(NODES, 'n1', label),
        agent.patch(NODES, 'n1', { kind: 'merge', body: { status: {} } }, toStatus),
        agent.delete(IP_NODES, 'n2'),
      ];
      for (const said of await Promise.all(calls.map(refusal))) expect(said).to.match(BY_RBAC);
    });

    it('reads a Secret by its name in herald-system, lists none, and reads none elsewhere', async () => {
      await allowed(agent.get(SECRETS, 'tor'));
      expect(await refusal(agent.list(SECRETS))).to.match(BY_RBAC);
      const elsewhere = inNamespace(SECRETS, 'default');
      expect(await refusal(agent.get(elsewhere, 'tor'))).to.match(BY_RBAC);
      expect(await refusal(agent.list(elsewhere))).to.match(BY_RBAC);
    });

    it('reads neither Services nor EndpointSlices', async () => {
      const services = { group: '', version: 'v1', plural: 'services' };
      expect(await refusal(agent.list(services))).to.match(BY_RBAC);
    });
  });

  it('a token that is bound to no node writes nothing', async () => {
    expect(await refusal(unbound.create(IP_NODES, ipNode('n5')))).to.contain(UNBOUND);
    expect(await refusal(unbound.patch(IP_NODES, 'n2', status, toStatus))).to.contain(UNBOUND);
    expect(await refusal(unbound.create(LEASES, lease('node-n5')))).to.contain(UNBOUND);
  });

  it('a token that is bound to the Node itself, for an agent outside of pods, counts as well', async () => {
    const { uid } = (await cluster.addNode('n7')).metadata;
    const bound = ['--bound-object-kind=Node', '--bound-object-name=n7'];
    const args = ['create', 'token', 'herald-agent', '-n', NAMESPACE, ...bound];
    const { stdout } = await cluster.kubectl([...args, `--bound-object-uid=${uid}`]);
    const token = stdout.trim();
    const onHost = cluster.apiAs(cluster.writeKubeconfig('host', { kind: 'token', token }));
    await allowed(onHost.create(IP_NODES, ipNode('n7')));
    await allowed(onHost.patch(IP_NODES, 'n7', status, toStatus));
    const said = await refusal(onHost.patch(IP_NODES, 'n2', status, toStatus));
    expect(said).to.contain('the agent of node n7 may write');
  });

  it('a node with a long name has a Lease by the hash of it, and nobody with another beginning', async () => {
    const long = await as('herald-agent', LONG);
    await allowed(long.create(IP_NODES, ipNode(LONG)));
    await allowed(long.create(LEASES, lease(nodeLease(LONG))));
    const other = nodeLease(`other-${LONG}`);
    expect(await refusal(long.create(LEASES, lease(other)))).to.contain('of that node only');
    expect(await refusal(long.create(LEASES, lease('node-n1')))).to.contain('of that node only');
  });

  describe('an agent that somebody has given all rights', () => {
    const binding = { metadata: { name: 'too-much' } };

    before(async () => {
      await cluster.api.create(BINDINGS, {
        ...binding,
        roleRef: { apiGroup: BINDINGS.group, kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ kind: 'ServiceAccount', name: 'herald-agent', namespace: NAMESPACE }],
      });
      await until('it has them', async () => {
        const said = await refusal(agent.list(SECRETS));
        return said === '' ? done(true) : notYet(said);
      });
    });

    after(async () => await cluster.api.delete(BINDINGS, binding.metadata.name));

    it('is still held to its node by the admission policy, deleting too', async () => {
      const label = { kind: 'merge', body: { metadata: { labels: { a: 'b' } } } } as const;
      expect(await refusal(agent.delete(IP_NODES, 'n2'))).to.contain(`${BY_POLICY} ipnodes/n2.`);
      expect(await refusal(agent.patch(IP_NODES, 'n2', label))).to.contain(BY_POLICY);
      expect(await refusal(agent.delete(LEASES, 'herald-controller'))).to.contain(BY_POLICY);
      const all = { method: 'DELETE', path: pathOf(IP_NODES) };
      await refusal(agent.call(all));
      await allowed(cluster.api.get(IP_NODES, 'n2'));
    });
  });

  describe('the controller', () => {
    it('reads no Secret, anywhere', async () => {
      for (const namespace of [NAMESPACE, 'default']) {
        const secrets = inNamespace(SECRETS, namespace);
        expect(await refusal(controller.get(secrets, 'tor'))).to.match(BY_RBAC);
        expect(await refusal(controller.list(secrets))).to.match(BY_RBAC);
      }
    });

    it('writes claims and statuses, and is not held to a node', async () => {
      await allowed(controller.create(IP_CLAIMS, claim('192.0.2.9')));
      await allowed(controller.patch(IP_CLAIMS, '192.0.2.9', { kind: 'merge', body: {} }));
      await allowed(controller.delete(IP_CLAIMS, '192.0.2.9'));
      await allowed(controller.patch(IP_NODES, 'n2', status, toStatus));
    });

    it("renews its own Lease and no node's", async () => {
      for (const name of ['node-n2', 'herald-controller']) {
        const { metadata } = await cluster.api.get(LEASES, name);
        const said = await refusal(controller.update(LEASES, name, { ...lease(name), metadata }));
        if (name === 'herald-controller') expect(said).to.equal('');
        else expect(said).to.match(BY_RBAC);
      }
    });

    it('writes no pool, no peer, no Node, and no spec of an IPNode', async () => {
      const label = { kind: 'merge', body: { metadata: { labels: { a: 'b' } } } } as const;
      for (const resource of [IP_POOLS, BGP_PEERS, NODES, IP_NODES]) {
        expect(await refusal(controller.patch(resource, 'n2', label))).to.match(BY_RBAC);
      }
    });
  });

  describe('the line in which the API server puts a request', () => {
    const schemas = {
      group: 'flowcontrol.apiserver.k8s.io',
      version: 'v1',
      plural: 'flowschemas',
    };
    /** the name of the FlowSchema that the server itself names in its answer */
    const lineOf = async (account: string, ...args: readonly string[]): Promise<string> => {
      const [namespace = '', name = ''] = account.split('/');
      const kubeconfig = await cluster.serviceAccountKubeconfig(namespace, name);
      const asked = [`--kubeconfig=${kubeconfig}`, '-v=8', '--raw'];
      const { stderr } = await cluster.kubectl(['get', ...asked, ...args]);
      const uid = /X-Kubernetes-Pf-Flowschema-Uid: ([0-9a-f-]+)/i.exec(stderr)?.[1];
      const { items } = await cluster.api.list(schemas);
      return items.find(({ metadata }) => metadata.uid === uid)?.metadata.name ?? `none: ${stderr}`;
    };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/herald-system/leases';

    it('is one of its own for Leases, another one for the rest of Herald, and neither for tenants', async () => {
      await cluster.api.create(LEASES, lease('node-n9'));
      await until('the schemas are in force', async () => {
        const line = await lineOf(`${NAMESPACE}/herald-agent`, `${leases}/node-n9`);
        return line === 'herald-leases' ? done(true) : notYet(line);
      });
      expect(await lineOf(`${NAMESPACE}/herald-controller`, leases)).to.equal('herald');
      const claims = '/apis/herald.dev/v1alpha1/ipclaims';
      expect(await lineOf(`${NAMESPACE}/herald-agent`, claims)).to.equal('herald');
      expect(await lineOf(`${NAMESPACE}/herald-controller`, claims)).to.equal('herald');
      expect(await lineOf('default/tenant', '/version')).to.equal('service-accounts');
    });

    it('has places that no flood of others takes', async () => {
      const levels = { ...schemas, plural: 'prioritylevelconfigurations' };
      for (const name of ['herald-leases', 'herald']) {
        const schema = await cluster.api.get(schemas, name);
        expect(schema['spec']).to.have.nested.property('priorityLevelConfiguration.name', name);
        const { limited } = Object((await cluster.api.get(levels, name))['spec']);
        const kept = limited.nominalConcurrencyShares * (1 - limited.lendablePercent / 100);
        expect(kept, name).to.be.at.least(2);
        expect(JSON.stringify(schema['status'])).to.contain('"type":"Dangling","status":"False"');
      }
    });
  });

  describe('a person', () => {
    const person = async (user: string, role: string): Promise<TestApi> => {
      await cluster.api.create(BINDINGS, {
        metadata: { name: user },
        roleRef: { apiGroup: BINDINGS.group, kind: 'ClusterRole', name: role },
        subjects: [{ kind: 'User', name: user, apiGroup: BINDINGS.group }],
      });
      const api = cluster.apiAs(cluster.userKubeconfig(user));
      await until('the binding counts', async () => {
        const query = { dryRun: 'All' };
        const body = { ...pool, spec: { addresses: ['192.0.2.0/24'] } };
        const write = { method: 'POST', path: pathOf(IP_POOLS), query, body };
        const call = role === 'herald-view' ? api.list(IP_POOLS) : api.call(write);
        const said = await refusal(call);
        return said === '' ? done(true) : notYet(said);
      });
      return api;
    };

    it('with herald-view reads all four kinds and writes none', async () => {
      const viewer = await person('vera', 'herald-view');
      for (const resource of [IP_POOLS, IP_CLAIMS, IP_NODES, BGP_PEERS]) {
        await allowed(viewer.list(resource));
      }
      expect(await refusal(viewer.create(IP_CLAIMS, claim('192.0.2.10')))).to.contain('cannot');
    });

    it("has no right to write by Kubernetes' own edit and admin, unless the component says so", async () => {
      const wide = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterroles' };
      const selectors: string[] = [];
      for (const name of ['admin', 'edit']) {
        const { clusterRoleSelectors } = Object(
          (await cluster.api.get(wide, name))['aggregationRule'],
        );
        for (const { matchLabels } of clusterRoleSelectors) {
          for (const [key, value] of Object.entries(matchLabels)) selectors.push(`${key}=${value}`);
        }
      }
      expect(selectors).to.include('rbac.authorization.k8s.io/aggregate-to-edit=true');
      const inside = async () => {
        const found: string[] = [];
        for (const labelSelector of selectors) {
          const { items } = await cluster.api.list(wide, { labelSelector });
          found.push(...items.map(({ metadata }) => metadata.name));
        }
        return found.filter((name) => name.startsWith('herald-'));
      };
      expect(await inside()).to.deep.equal([]);
      const overlay = join(cluster.folder, 'deploy/overlays/with-edit');
      cpSync(join(BASE, '..'), join(cluster.folder, 'deploy'), { recursive: true });
      mkdirSync(overlay);
      const components = 'components: [../../components/aggregate-to-edit]';
      writeFileSync(
        join(overlay, 'kustomization.yaml'),
        `resources: [../../base]\n${components}\n`,
      );
      await cluster.applyKustomization(overlay);
      expect(new Set(await inside())).to.deep.equal(new Set(['herald-edit']));
      await cluster.applyKustomization(BASE);
      expect(await inside(), 'as an upgrade takes it out').to.deep.equal([]);
    });

    it('with herald-edit writes pools, peers and claims, no IPNode and no status', async () => {
      const editor = await person('edda', 'herald-edit');
      await allowed(editor.create(IP_CLAIMS, claim('192.0.2.11')));
      await allowed(editor.delete(IP_CLAIMS, '192.0.2.11'));
      expect(await refusal(editor.create(IP_NODES, ipNode('n6')))).to.contain('cannot');
      const toClaim = editor.patch(IP_CLAIMS, '192.0.2.7', status, toStatus);
      expect(await refusal(toClaim)).to.contain('cannot');
    });
  });
});
