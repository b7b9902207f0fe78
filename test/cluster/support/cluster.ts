/**
 * A Kubernetes control plane for tests: one etcd and some kube-apiservers on loopback, nothing else. There is no kubelet, no scheduler and no
 * controller-manager: Nodes, EndpointSlices and Pods are what a test writes, nothing is garbage-collected, and a deleted
 * namespace never goes by itself; so every test takes a namespace of its own (`cluster.namespace()`), and `reset()` clears up
 * between tests. One cluster serves a whole test file: start it in `before`, stop it in `after`.
 */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAMESPACE } from '../../../src/model/names.ts';
import type { KubeObject } from '../../../src/sources/kube/api.ts';
import {
  ENDPOINT_SLICES,
  inNamespace,
  NAMESPACES,
  NODES,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import {
  type Credentials,
  certificateOf,
  writeKubeconfig,
} from '../../../tools/cluster/kubeconfig.ts';
import { Pki } from '../../../tools/cluster/pki.ts';
import { kubernetesPrograms } from '../../../tools/kubernetes/assets.ts';
import { ensureKubectl } from '../../../tools/kubernetes/kubectl.ts';
import { field, items, text } from '../../interop/routers/json.ts';
import { isKept } from '../../support/netns.ts';
import { type Output, run } from '../../support/process.ts';
import { Applier, parseDocuments, readDocuments } from './apply.ts';
import { type AuditEntry, type AuditMark, auditMark, readAudit } from './audit.ts';
import { readKubeconfig } from './kubeconfig.ts';
import {
  type EndpointOptions,
  type NodeOptions,
  nodeBody,
  readyCondition,
  type ServiceOptions,
  type ServiceRef,
  serviceBody,
  sliceBody,
  sliceName,
} from './objects.ts';
import { reset } from './reset.ts';
import { ApiServer, Etcd } from './servers.ts';
import { ensure, serviceAccountToken, type TokenOptions } from './service-account.ts';
import { TestApi } from './test-api.ts';

export interface ClusterOptions {
  /** how many kube-apiservers on the one etcd; default 1 */
  readonly servers?: number;
  /** more flags for kube-apiserver, as `--name=value` */
  readonly flags?: readonly string[];
  /** default true; a bench may do without */
  readonly audit?: boolean;
  /** the processes go on when this one ends, and so does the folder */
  readonly outlives?: boolean;
  /** where it keeps its files; default a fresh one that `stop` removes */
  readonly folder?: string;
  /** progress, where somebody looks on */
  readonly say?: (sentence: string) => void;
}

const repository = join(import.meta.dirname, '../../..');
const sayOnStderr = (sentence: string) => process.stderr.write(`kubernetes: ${sentence}\n`);

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { servers: count = 1, say = sayOnStderr } = options;
  const program = (await kubernetesPrograms(['kube-apiserver'], say)).get('kube-apiserver');
  if (program === undefined) throw new Error('kube-apiserver cannot be had');
  await ensureKubectl(say);
  removeLeftOvers();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), `herald-cluster-${process.pid}-`));
  const place = { folder, outlives: options.outlives === true };
  const keys = join(folder, 'pki');
  mkdirSync(keys, { recursive: true, mode: 0o700 });
  const etcd = await Etcd.create(place);
  etcd.launch();
  const pki = new Pki(keys);
  await etcd.ready();
  const servers = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      ApiServer.create({
        place,
        program,
        index,
        pki,
        etcdUrl: etcd.url,
        hasAudit: options.audit !== false,
        flags: options.flags ?? [],
      }),
    ),
  );
  const cluster = new Cluster({ folder, pki, etcd, servers });
  if (!place.outlives) endWithProcess(cluster);
  try {
    await Promise.all(servers.map((server) => server.start()));
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

interface Parts {
  readonly folder: string;
  readonly pki: Pki;
  readonly etcd: Etcd;
  readonly servers: readonly ApiServer[];
}

export class Cluster {
  readonly folder: string;
  readonly pki: Pki;
  readonly etcd: Etcd;
  readonly servers: readonly ApiServer[];
  /** of an admin, to the first server */
  readonly kubeconfig: string;
  /** the admin's client, independent of the program's own */
  readonly api: TestApi;
  readonly #admin: Credentials;
  readonly #applier: Applier;
  #files = 0;
  #namespaces = 0;

  constructor({ folder, pki, etcd, servers }: Parts) {
    this.folder = folder;
    this.pki = pki;
    this.etcd = etcd;
    this.servers = servers;
    this.#admin = certificateOf(pki.client('admin', ['system:masters']));
    this.kubeconfig = this.writeKubeconfig('admin', this.#admin);
    this.api = new TestApi(readKubeconfig(this.kubeconfig));
    this.#applier = new Applier(this.api);
  }

  get url(): string {
    return this.servers[0]?.url ?? '';
  }

  /** A kubeconfig of this cluster's folder; `server` defaults to the first one. */
  writeKubeconfig(label: string, credentials: Credentials, server = this.url): string {
    this.#files += 1;
    const file = join(this.folder, `${label}-${this.#files}.kubeconfig`);
    return writeKubeconfig(file, { server, ca: this.pki.ca, credentials });
  }

  /** The admin's kubeconfig for another server of the same etcd. */
  adminKubeconfig(server: number): string {
    return this.writeKubeconfig('admin', this.#admin, this.servers[server]?.url ?? this.url);
  }

  /** A person: by certificate, with no rights but those of the groups. */
  userKubeconfig(user: string, groups: readonly string[] = []): string {
    return this.writeKubeconfig(user, certificateOf(this.pki.client(user, groups)));
  }

  /** With a token as a pod of this account has it; `boundToNode` as a DaemonSet's pod on that node. The account is made when missing. */
  async serviceAccountKubeconfig(
    namespace: string,
    name: string,
    options: TokenOptions & { readonly server?: string } = {},
  ): Promise<string> {
    const token = await serviceAccountToken(this.api, { namespace, name }, options);
    return this.writeKubeconfig(name, { kind: 'token', token }, options.server ?? this.url);
  }

  /** A client with these rights, for what a test does in somebody else's name. */
  apiAs(kubeconfig: string, userAgent?: string): TestApi {
    return new TestApi(readKubeconfig(kubeconfig), userAgent);
  }

  /** The kubectl of PATH, as admin unless told otherwise; a status other than 0 throws. */
  kubectl(args: readonly string[], input = '', kubeconfig = this.kubeconfig): Promise<Output> {
    const env = { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(this.folder, 'kubectl') };
    return run('kubectl', args, { env, input, timeoutMs: 60_000 });
  }

  /** deploy/crds and the namespace of our Leases; resolves when all servers serve them. */
  async installCrds(folder = join(repository, 'deploy/crds')): Promise<void> {
    const documents = readDocuments([folder]);
    await ensure(this.api, NAMESPACES, { metadata: { name: NAMESPACE } });
    await this.#applier.apply(documents);
    for (const server of this.servers.slice(1)) await new Applier(server.api).apply(documents);
  }

  /** Server-side apply of files and folders of YAML. */
  apply(...paths: readonly string[]): Promise<KubeObject[]> {
    return this.#applier.apply(readDocuments(paths));
  }

  /** What `kubectl apply -k` would: a folder with a kustomization.yaml. */
  async applyKustomization(folder: string): Promise<KubeObject[]> {
    const { stdout } = await this.kubectl(['kustomize', folder]);
    return this.#applier.apply(parseDocuments(stdout));
  }

  applyObjects(...documents: readonly object[]): Promise<KubeObject[]> {
    return this.#applier.apply(documents);
  }

  auditMark(): AuditMark {
    return auditMark(this.#auditFiles);
  }

  /** What the servers answered since the mark, or since they started. */
  audit(since?: AuditMark): AuditEntry[] {
    return readAudit(this.#auditFiles, since);
  }

  get #auditFiles(): string[] {
    return this.servers.map((server) => server.auditFile);
  }

  /** A namespace that no other test has had. */
  async namespace(prefix = 'test', labels: Readonly<Record<string, string>> = {}): Promise<string> {
    this.#namespaces += 1;
    const name = `${prefix}-${this.#namespaces}`;
    await this.api.create(NAMESPACES, { metadata: { name, labels } });
    return name;
  }

  /** A Node as a kubelet registers it, ready unless told otherwise. */
  async addNode(name: string, options: NodeOptions = {}): Promise<KubeObject> {
    await this.api.create(NODES, nodeBody(name, { bootID: bootId(), ...options }));
    // admission taints every new Node as not ready, and nobody is here to take that away
    const taints = options.taints ?? [];
    return this.api.patch(NODES, name, { kind: 'merge', body: { spec: { taints } } });
  }

  /** Changes what is given and leaves the rest. A label of null goes. */
  async setNode(
    name: string,
    change: Omit<NodeOptions, 'labels'> & {
      readonly labels?: Readonly<Record<string, string | null>>;
    },
  ): Promise<KubeObject> {
    const { labels, annotations, unschedulable, taints, ready, bootID, addresses } = change;
    const body = {
      metadata: { ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) },
      spec: {
        ...(unschedulable === undefined ? {} : { unschedulable }),
        ...(taints === undefined ? {} : { taints }),
      },
    };
    const status = {
      ...(ready === undefined ? {} : { conditions: [readyCondition(ready)] }),
      ...(bootID === undefined ? {} : { nodeInfo: { bootID } }),
      ...(addresses === undefined
        ? {}
        : { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) }),
    };
    const patched = await this.api.patch(NODES, name, { kind: 'merge', body });
    if (Object.keys(status).length === 0) return patched;
    const patch = { kind: 'strategic', body: { status } } as const;
    return this.api.patch(NODES, name, patch, { subresource: 'status' });
  }

  /** A Service of type LoadBalancer and of our class, unless `spec` says otherwise. */
  addService(options: ServiceOptions): Promise<KubeObject> {
    return this.api.create(inNamespace(SERVICES, options.namespace), serviceBody(options));
  }

  /** The EndpointSlice of a Service: so many ready endpoints, spread over the nodes there are, or exactly these. */
  async setEndpoints(
    service: ServiceRef,
    endpoints: number | readonly EndpointOptions[],
    family: 'IPv4' | 'IPv6' = 'IPv4',
  ): Promise<KubeObject> {
    const wanted = typeof endpoints === 'number' ? await this.#spread(endpoints) : endpoints;
    const slices = inNamespace(ENDPOINT_SLICES, service.namespace);
    const patch = { kind: 'apply', body: sliceBody(service, wanted, family) } as const;
    return this.api.patch(slices, sliceName(service.name, family), patch, { force: true });
  }

  async #spread(count: number): Promise<EndpointOptions[]> {
    const nodes = (await this.api.list(NODES)).items.map((node) => node.metadata.name);
    return Array.from({ length: count }, (_, index) => {
      const node = nodes[index % nodes.length];
      return node === undefined ? {} : { node };
    });
  }

  /**
   * Deletes herald.dev objects, Nodes, all that stands in namespaces and the namespaces themselves. What stays: `default` and `herald-system` (emptied of
   * Services, slices, Pods, Secrets, Leases and Events), cluster-wide RBAC, admission policies and CRDs.
   */
  reset(): Promise<void> {
    return reset(this.api);
  }

  /** CPU time that all server programs have used so far. */
  cpuSeconds(): { readonly etcd: number; readonly servers: readonly number[] } {
    return {
      etcd: this.etcd.cpuSeconds(),
      servers: this.servers.map((server) => server.cpuSeconds()),
    };
  }

  /** Ends everything; the files go too, unless HERALD_KEEP_LAB wants them. */
  async stop(): Promise<void> {
    this.api.close();
    for (const server of this.servers) server.api.close();
    await Promise.all([...this.servers, this.etcd].map((each) => each.kill()));
    this.stopNow();
  }

  /** The same without waiting, for the end of the process. */
  stopNow(): void {
    for (const each of [...this.servers, this.etcd]) each.killNow();
    clusters.delete(this);
    if (isKept()) process.stderr.write(`kept: ${this.folder}\n`);
    else rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

const clusters = new Set<Cluster>();
const ownedFolder = /^herald-cluster-(\d+)-\w+$/;

/** Files of runs that were killed; their servers died with them. */
function removeLeftOvers(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = ownedFolder.exec(name)?.[1];
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

function endWithProcess(cluster: Cluster): void {
  if (clusters.size === 0) {
    process.once('exit', () => {
      for (const each of clusters) each.stopNow();
    });
  }
  clusters.add(cluster);
}

/** A field of an object by its path, `at(claim, 'spec', 'node')`; undefined where there is none. */
export const at: (value: unknown, ...path: readonly string[]) => unknown = field;

/** The condition of a type in status.conditions. */
export function conditionOf(object: KubeObject, type: string): unknown {
  const conditions = items(field(object, 'status', 'conditions'));
  return conditions.find((each) => text(field(each, 'type')) === type);
}
