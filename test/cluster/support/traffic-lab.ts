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
import { kubernetesPrograms } from '../../../tools/kubernetes/assets.ts';
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
export const gatewayOf = (index: number): string => `10.50.${index}.1`;
export const podAddress = (index: number): string => `10.60.${index}.2`;

export const nodeAddress = (index: number): string => `10.50.${index}.2`;

/** what another release than the one under test brings: its folders */
export interface Installs {
  readonly crds?: string;
  readonly base?: string;
}

export class TrafficLab {
  readonly cluster: Cluster;
  readonly lab: Lab;
  readonly client: Host;
  readonly router: Host;
  readonly edge: EdgeRouter;
  readonly #nodes: readonly Host[];
  readonly runs: HeraldRun[] = [];
  readonly #relays = new Map<Host, ApiRelay>();

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

  static async start({ crds, base = BASE }: Installs = {}): Promise<TrafficLab> {
    const cluster = await startCluster();
    await cluster.installCrds(crds);
    await cluster.applyKustomization(base);
    const lab = createLab('traffic');
    const client = await lab.host('client', { forward: false });
    const router = await lab.host('router', { forward: true });
    await lab.link(client, router, { a: ['10.50.0.2/24'], b: ['10.50.0.1/24'] });
    await client.ip('route add default via 10.50.0.1');
    const nodes: Host[] = [];
    for (const index of INDEXES) nodes.push(await createNode(lab, router, index));
    for (const [at, node] of nodes.entries()) await podServes(node, podAddress(at + 1));
    const documents = join(lab.folder, 'documents');
    writeDocuments(documents, { router: gatewayOf(1), address: vip });
    const neighbours = INDEXES.map(nodeAddress);
    const config = { documents, neighbourAsn: masterAsn, routerId: '10.50.0.1', neighbours };
    const edge = createEdge('bird', router, { ...config, isForgiving: true });
    await edge.start();
    return new TrafficLab({ cluster, lab, client, router, edge, nodes });
  }

  /** Nodes with their peers, agents in their namespaces, one controller. */
  async startHerald({ proxyCheck = 'none' }: { readonly proxyCheck?: string } = {}): Promise<void> {
    await this.addNodes();
    await this.addPeers();
    await Promise.all([
      this.startController(),
      ...INDEXES.map((index) => this.startAgent(index, proxyCheck)),
    ]);
  }

  async addNodes(): Promise<void> {
    for (const index of INDEXES) {
      await this.cluster.addNode(`n${index}`, { addresses: [nodeAddress(index)] });
    }
  }

  /** The router's address on each node's own link. */
  async addPeers(): Promise<void> {
    for (const index of INDEXES) {
      await this.cluster.applyObjects(peerOf(`n${index}`, gatewayOf(index)));
    }
  }

  async startController(...flags: readonly string[]): Promise<void> {
    const { cluster } = this;
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    const options = { name: 'controller', folder: cluster.folder, kubeconfig };
    this.runs.push(startHerald(['controller', '--metrics-address=off', ...flags], options));
  }

  /** A real kube-proxy on each node, in the mode of the node, with a path between the nodes for its pods. */
  async startProxies(modes: readonly string[] = ['nftables', 'nftables']): Promise<void> {
    const programs = await kubernetesPrograms(['kube-proxy'], (line) => {
      process.stderr.write(`kubernetes: ${line}\n`);
    });
    const args = [
      `--kubeconfig=${this.cluster.kubeconfig}`,
      '--healthz-bind-address=127.0.0.1:10256',
      ...['--metrics-bind-address=127.0.0.1:10249', '--conntrack-max-per-core=0'],
      ...['--conntrack-tcp-timeout-established=0', '--conntrack-tcp-timeout-close-wait=0'],
    ];
    for (const [index, host] of this.#nodes.entries()) {
      await this.router.ip(`route add 10.60.${index + 1}.0/24 via ${nodeAddress(index + 1)}`);
      await this.#reachApi(host);
      const own = [`--hostname-override=${host.name}`, `--proxy-mode=${modes[index]}`];
      host.spawn('kube-proxy', programs.get('kube-proxy') ?? '', [...args, ...own]);
    }
  }

  async #reachApi(host: Host): Promise<void> {
    if (this.#relays.has(host)) return;
    this.#relays.set(host, await exposeApi(host, this.cluster.url));
  }

  nodeHost(index: number): Host {
    const host = this.#nodes[index - 1];
    if (host === undefined) throw new Error(`there is no node ${index}`);
    return host;
  }

  /** `program`: of another release */
  async startAgent(index: number, proxyCheck = 'none', program?: string): Promise<void> {
    const { cluster } = this;
    const host = this.nodeHost(index);
    await this.#reachApi(host);
    const kubeconfig = await agentKubeconfig(cluster, host.name);
    const state = join(host.folder, 'state');
    mkdirSync(state, { recursive: true });
    const args = [
      ...['agent', '--source', 'kube', '--node-name', host.name, '--kube-proxy-check', proxyCheck],
      ...['--state-dir', state, '--socket', join(state, 'agent.sock'), '--metrics-address', 'off'],
    ];
    const other = program === undefined ? {} : { program };
    const name = `agent-${host.name}`;
    const options = { name, folder: cluster.folder, kubeconfig, host, ...other };
    this.runs.push(startHerald(args, options));
  }

  /** The cable between a node and the router: without it the kernel of both has no carrier. The node still reaches the API, by its relay. */
  async setUplink(index: number, state: 'up' | 'down'): Promise<void> {
    // eth0 of the router is the client's, and the nodes follow in their order
    await this.router.ip(`link set eth${index} ${state}`);
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
    await Promise.all([...this.#relays.values()].map((each) => each.stop()));
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

/** A test that loses no probe must not begin before somebody answers. */
async function podServes(node: Host, address: string): Promise<void> {
  const ask = ['-s', '-o', '/dev/null', `http://${address}:${POD_PORT}/readyz`];
  await untilValue(
    `the pod ${address} answers`,
    async () => (await node.exec('curl', ask, { anyStatus: true })).status,
    (status) => status === 0,
    { timeoutMs: 60_000 },
  );
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
