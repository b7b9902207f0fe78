/** etcd and kube-apiserver as a test cluster runs them: on loopback, with ports of their own, RBAC on, every request in the audit log. */

import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { certificateOf } from '../../../tools/cluster/kubeconfig.ts';
import type { Pki } from '../../../tools/cluster/pki.ts';
import { Daemon } from './daemon.ts';
import { TestApi } from './test-api.ts';

/** Everything by its metadata; a request counts once, when it is answered (a watch: when it starts and when it ends). */
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{ level: Metadata }]
`;

/** IPv4 first: Services are single-stack IPv4 unless they ask otherwise. */
export const SERVICE_CIDRS = '10.96.0.0/16,fd00:96::/108';

export interface ServerPlace {
  readonly folder: string;
  readonly outlives: boolean;
}

export class Etcd extends Daemon {
  readonly url: string;

  private constructor(place: ServerPlace, url: string, port: number, peerUrl: string) {
    const data = join(place.folder, 'etcd');
    mkdirSync(data, { mode: 0o700, recursive: true });
    const client = ['--listen-client-urls', url, '--advertise-client-urls', url];
    const peer = ['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl];
    const cluster = ['--initial-cluster', `default=${peerUrl}`];
    const size = ['--quota-backend-bytes', String(4 * 2 ** 30), '--auto-compaction-retention', '0'];
    super({
      name: 'etcd',
      command: 'etcd',
      args: ['--data-dir', data, ...client, ...peer, ...cluster, ...size, '--unsafe-no-fsync'],
      folder: place.folder,
      outlives: place.outlives,
      isReady: () => accepts(port),
    });
    this.url = url;
  }

  static async create(place: ServerPlace): Promise<Etcd> {
    const [port = 0, peerPort = 0] = await freePorts(2);
    const url = (each: number) => `http://127.0.0.1:${each}`;
    return new Etcd(place, url(port), port, url(peerPort));
  }
}

export interface ApiServerOptions {
  readonly place: ServerPlace;
  readonly program: string;
  readonly index: number;
  readonly pki: Pki;
  readonly etcdUrl: string;
  readonly hasAudit: boolean;
  /** more `--name=value` flags; the last of a name counts */
  readonly flags: readonly string[];
}

export class ApiServer extends Daemon {
  readonly url: string;
  readonly auditFile: string;
  readonly #api: TestApi;

  private constructor(options: ApiServerOptions, port: number, api: TestApi) {
    const auditFile = join(options.place.folder, `audit-${options.index}.log`);
    super({
      name: `kube-apiserver-${options.index}`,
      command: options.program,
      args: [...flagsOf(options, port, auditFile), ...options.flags],
      folder: options.place.folder,
      outlives: options.place.outlives,
      isReady: () => isReady(api),
    });
    this.url = `https://127.0.0.1:${port}`;
    this.auditFile = auditFile;
    this.#api = api;
  }

  static async create(options: ApiServerOptions): Promise<ApiServer> {
    const [port = 0] = await freePorts(1);
    const admin = options.pki.client('harness', ['system:masters']);
    const access = { server: `https://127.0.0.1:${port}`, ca: options.pki.ca };
    const api = new TestApi({ ...access, credentials: certificateOf(admin) }, 'herald-harness');
    return new ApiServer(options, port, api);
  }

  /** as admin, on this very server */
  get api(): TestApi {
    return this.#api;
  }
}

function flagsOf(options: ApiServerOptions, port: number, auditFile: string): string[] {
  const { place, pki, etcdUrl, hasAudit } = options;
  const policy = join(place.folder, 'audit-policy.yaml');
  writeFileSync(policy, AUDIT_POLICY);
  const settings: Readonly<Record<string, string>> = {
    'etcd-servers': etcdUrl,
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    // nobody reaches it by the Service `kubernetes`, and loopback is not allowed in its endpoints
    'endpoint-reconciler-type': 'none',
    'secure-port': String(port),
    'tls-cert-file': pki.server.certFile,
    'tls-private-key-file': pki.server.keyFile,
    'client-ca-file': pki.caFile,
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': pki.serviceAccountKey,
    'service-account-signing-key-file': pki.serviceAccountKey,
    'service-cluster-ip-range': SERVICE_CIDRS,
    'authorization-mode': 'Node,RBAC',
    'allow-privileged': 'true',
    // for reset(): the default deletes a collection one by one
    'delete-collection-workers': '16',
    'cert-dir': join(place.folder, 'certs'),
    ...(hasAudit
      ? {
          'audit-policy-file': policy,
          'audit-log-path': auditFile,
          // megabytes; the default would begin a new file at 100
          'audit-log-maxsize': '100000',
        }
      : {}),
  };
  return Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
}

/** Ready, and able to give a Service its address: the allocator of those starts a little after /readyz. */
async function isReady(api: TestApi): Promise<boolean> {
  const options = { timeoutMs: 5_000 };
  await api.call({ method: 'GET', path: '/readyz', options });
  const path = '/api/v1/namespaces/default/services';
  const spec = {
    type: 'LoadBalancer',
    ports: [{ port: 80 }],
    ipFamilyPolicy: 'RequireDualStack',
  };
  const body = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'probe' }, spec };
  await api.call({ method: 'POST', path, query: { dryRun: 'All' }, body, options });
  return true;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Below what the kernel gives to outgoing connections, so that a server that restarts finds its port still free. */
const FIRST_PORT = 20_000;
/** Files of the ring run at the same time, and a port is bound seconds after it was found free: each process looks in a part of its own. */
const PARTS = 12;
const PORTS_PER_PART = 1000;
const ownFirstPort = FIRST_PORT + (process.pid % PARTS) * PORTS_PER_PART;
/** A server that is down for a while comes back to its port. */
const givenOut = new Set<number>();

/** Ports that nobody has at this moment, and that this process was never given before. */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
    if (givenOut.size > PORTS_PER_PART / 2) givenOut.clear();
    const port = randomInt(ownFirstPort, ownFirstPort + PORTS_PER_PART);
    if (givenOut.has(port)) continue;
    givenOut.add(port);
    if (await canListen(port)) found.push(port);
  }
  return found;
}

function canListen(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
