/**
 * A cluster that carries packets: a client, a router (BIRD with the kernel's routes), two nodes and a pod behind each, every one a namespace. Nodes
 * send what comes to a Service's address on to their pod by DNAT, as kube-proxy does. The API is shown to the nodes through relays; the
 * controller runs outside.
 *
 *   client 10.50.0.2 ── router ─┬─ 10.50.1.2 n1 ── 10.60.1.2 p1
 *                               └─ 10.50.2.2 n2 ── 10.60.2.2 p2
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { API_VERSION, NAMESPACE } from '../../../src/model/names.ts';
import { edgeAsn, masterAsn, vip } from '../../standalone/support/addresses.ts';
import { createAuthority } from '../../standalone/support/certificates.ts';
import { writeDocuments } from '../../standalone/support/documents.ts';
import {
  createEdge,
  type EdgeRouter,
  kernelNextHops,
} from '../../standalone/support/edge-router.ts';
import { createLab, type Host, type Lab } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { agentKubeconfig } from './agent-run.ts';
import { type ApiRelay, exposeApi } from './api-relay.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { type HeraldRun, startHerald } from './herald-run.ts';

const BASE = join(import.meta.dirname, '../../../deploy/base');
const STAND_IN = join(import.meta.dirname, '../../standalone/support/stand-in-main.ts');
const POD_PORT = 8080;
const INDEXES = [1, 2] as const;
const gatewayOf = (index: number) => `10.50.${index}.1`;

export const nodeAddress = (index: number): string => `10.50.${index}.2`;

export class TrafficLab {
  readonly cluster: Cluster;
  readonly lab: Lab;
  readonly client: Host;
  readonly router: Host;
  readonly edge: EdgeRouter;
  readonly #nodes: readonly Host[];
  readonly runs: HeraldRun[] = [];
  readonly #relays: ApiRelay[] = [];

  constructor(parts: {
    readonly cluster: Cluster;
    readonly lab: Lab;
    readonly client: Host;
    readonly router: Host;
    readonly edge: EdgeRouter;
    readonly nodes: readonly Host[];
  }) {
    this.cluster = parts.cluster;
    this.lab = parts.lab;
    this.client = parts.client;
    this.router = parts.router;
    this.edge = parts.edge;
    this.#nodes = parts.nodes;
  }

  static async start(): Promise<TrafficLab> {
    const cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyKustomization(BASE);
    const lab = createLab('traffic');
    const client = await lab.host('client', { forward: false });
    const router = await lab.host('router', { forward: true });
    await lab.link(client, router, { a: ['10.50.0.2/24'], b: ['10.50.0.1/24'] });
    await client.ip('route add default via 10.50.0.1');
    const nodes: Host[] = [];
    for (const index of INDEXES) nodes.push(await createNode(lab, router, index));
    const documents = join(lab.folder, 'documents');
    writeDocuments(documents, { router: gatewayOf(1), address: vip });
    const neighbours = INDEXES.map(nodeAddress);
    const config = { documents, neighbourAsn: masterAsn, routerId: '10.50.0.1', neighbours };
    const edge = createEdge('bird', router, { ...config, isForgiving: true });
    await edge.start();
    return new TrafficLab({ cluster, lab, client, router, edge, nodes });
  }

  /** Nodes with their peers, agents in their namespaces, one controller. */
  async startHerald(): Promise<void> {
    const { cluster } = this;
    for (const index of INDEXES) {
      const name = `n${index}`;
      await cluster.addNode(name, { addresses: [nodeAddress(index)] });
      await cluster.applyObjects(peerOf(name, gatewayOf(index)));
    }
    await Promise.all([this.#startController(), ...this.#nodes.map((host) => this.#agent(host))]);
  }

  async #startController(): Promise<void> {
    const { cluster } = this;
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    const options = { name: 'controller', folder: cluster.folder, kubeconfig };
    this.runs.push(startHerald(['controller', '--metrics-address=off'], options));
  }

  async #agent(host: Host): Promise<void> {
    const { cluster } = this;
    this.#relays.push(await exposeApi(host, cluster.url));
    const kubeconfig = await agentKubeconfig(cluster, host.name);
    const state = join(host.folder, 'state');
    mkdirSync(state, { recursive: true });
    const args = [
      ...['agent', '--source', 'kube', '--node-name', host.name, '--kube-proxy-check', 'none'],
      ...['--state-dir', state, '--socket', join(state, 'agent.sock'), '--metrics-address', 'off'],
    ];
    const options = { name: `agent-${host.name}`, folder: cluster.folder, kubeconfig, host };
    this.runs.push(startHerald(args, options));
  }

  /** What kube-proxy would do for a Service with these ports. */
  async serve(address: string, ports: readonly number[]): Promise<void> {
    for (const [index, host] of this.#nodes.entries()) {
      const rules = ports.map(
        (port) =>
          `add rule ip proxy pre ip daddr ${address} tcp dport ${port} dnat to 10.60.${index + 1}.2:${POD_PORT}`,
      );
      await host.nft(
        `add table ip proxy\nadd chain ip proxy pre { type nat hook prerouting priority -100; }\n${rules.join('\n')}\n`,
      );
    }
  }

  /** The gateways that the router's kernel has for an address. */
  hops(address: string): Promise<string[]> {
    return kernelNextHops(this.router, `${address}/32`);
  }

  async reachedBy(address: string, accept: (hops: string) => boolean): Promise<void> {
    await untilValue(
      `the kernel's next hops of ${address}`,
      async () => (await this.hops(address)).join(' '),
      accept,
      { timeoutMs: 120_000 },
    );
  }

  /** BIRD's own table, with the moment at which each path last changed. */
  async table(): Promise<string> {
    const socket = join(this.router.folder, 'bird.ctl');
    return (await run('birdc', ['-s', socket, 'show route'])).stdout;
  }

  logs(): string {
    return this.runs.map((each) => `--- ${each.name}\n${each.log().slice(-3000)}`).join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all(this.runs.map((each) => each.kill()));
    await Promise.all(this.#relays.map((each) => each.stop()));
    await this.edge.stop();
    await this.lab.destroy();
    await this.cluster.stop();
  }
}

function peerOf(node: string, address: string): object {
  return {
    apiVersion: API_VERSION,
    kind: 'BGPPeer',
    metadata: { name: `tor-${node}` },
    spec: {
      address,
      asn: edgeAsn,
      localASN: masterAsn,
      timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 1 },
      nodeSelector: { matchLabels: { 'kubernetes.io/hostname': node } },
    },
  };
}

async function createNode(lab: Lab, router: Host, index: number): Promise<Host> {
  const host = await lab.host(`n${index}`, { forward: true });
  const pod = await lab.host(`p${index}`, { forward: false });
  const [gateway, address] = [gatewayOf(index), nodeAddress(index)];
  await lab.link(router, host, { a: [`${gateway}/24`], b: [`${address}/24`] });
  await lab.link(host, pod, { a: [`10.60.${index}.1/24`], b: [`10.60.${index}.2/24`] });
  await host.ip(`route add default via ${gateway}`);
  await pod.ip(`route add default via 10.60.${index}.1`);
  const authority = await createAuthority(pod.folder);
  const { certificate, key } = await authority.issue(pod.name, [`10.60.${index}.2`]);
  const files = [certificate, key, join(pod.folder, 'unready')];
  pod.spawn('server', process.execPath, [STAND_IN, pod.name, String(POD_PORT), ...files]);
  return host;
}
