/**
 * A cluster with more Services than can be made in an hour: stands in front of the real API server, answers for Services and EndpointSlices itself (made as they
 * are asked for, in pages where those are wanted), and passes everything else on. Every object is as big as kubectl and a controller manager leave it.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Cluster } from '../../cluster/support/cluster.ts';

const SERVICES = '/api/v1/services';
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const VERSION = '7';
/** one of so many is of another balancer, and is kept whole */
const FOREIGN_EACH = 10;
const SERVICE_BYTES = 2400;
const SLICE_BYTES = 1400;
const EXPIRED = {
  type: 'ERROR',
  object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 },
};

export interface ManyServices {
  readonly url: string;
  /** kinds whose lists were read to the end and that are watched by now */
  readonly watched: ReadonlySet<string>;
  readonly pages: number;
  /** ends both watches with 410: all is to be listed again */
  expire(): void;
  close(): void;
}

export async function startManyServices(cluster: Cluster, howMany: number): Promise<ManyServices> {
  const watched = new Set<string>();
  const watches = new Set<ServerResponse>();
  let pages = 0;
  const makers = new Map([
    [SERVICES, service],
    [SLICES, slice],
  ]);
  const { cert, key, ca } = await keys(cluster);
  const server = createServer({ cert, key }, (asked, answer) => {
    const url = new URL(asked.url ?? '/', cluster.url);
    const make = asked.method === 'GET' ? makers.get(url.pathname) : undefined;
    if (make === undefined) passOn(cluster, ca, asked, answer);
    else if (url.searchParams.has('watch')) {
      watched.add(url.pathname);
      answer.writeHead(200, { 'content-type': 'application/json' });
      answer.flushHeaders();
      watches.add(answer);
      answer.once('close', () => watches.delete(answer));
    } else {
      pages += 1;
      answer.writeHead(200, { 'content-type': 'application/json' });
      answer.end(page(url, howMany, make));
    }
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    watched,
    get pages() {
      return pages;
    },
    expire: () => {
      watched.clear();
      for (const each of watches) each.end(`${JSON.stringify(EXPIRED)}\n`);
      watches.clear();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function keys({ pki }: Cluster) {
  const { readFileSync } = await import('node:fs');
  return {
    cert: readFileSync(pki.server.certFile),
    key: readFileSync(pki.server.keyFile),
    ca: readFileSync(pki.caFile),
  };
}

function page(url: URL, howMany: number, make: (index: number) => object): string {
  const first = Number(url.searchParams.get('continue') ?? 0);
  // a server that answers from its memory knows no pages
  const isFromMemory = url.searchParams.get('resourceVersion') === '0';
  const limit = (!isFromMemory && Number(url.searchParams.get('limit') ?? 0)) || howMany;
  const last = Math.min(first + limit, howMany);
  const made = Array.from({ length: last - first }, (_, index) => make(first + index));
  const metadata = {
    resourceVersion: VERSION,
    ...(last < howMany && { continue: String(last), remainingItemCount: howMany - last }),
  };
  return JSON.stringify({ kind: 'List', apiVersion: 'v1', metadata, items: made });
}

function passOn(
  cluster: Cluster,
  ca: Buffer,
  asked: IncomingMessage,
  answer: ServerResponse,
): void {
  const { method = 'GET', headers, url: path = '/' } = asked;
  const target = new URL(path, cluster.url);
  const onward = request(target, { method, headers, ca }, (found) => {
    answer.writeHead(found.statusCode ?? 502, found.headers);
    answer.flushHeaders();
    found.pipe(answer);
    found.on('error', () => answer.destroy());
  });
  onward.on('error', () => answer.destroy());
  answer.on('close', () => onward.destroy());
  asked.pipe(onward);
}

const namespaceOf = (index: number): string => `tenant-${index % 997}`;
const nameOf = (index: number): string => `service-${index}`;

function metadata(index: number, name: string, labels: object): Record<string, unknown> {
  return {
    name,
    namespace: namespaceOf(index),
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    resourceVersion: '5',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels,
  };
}

/** with annotations of others and a record of writers, up to the size */
function padded(object: { readonly metadata: Record<string, unknown> }, bytes: number): object {
  const rest = Math.max(0, bytes - JSON.stringify(object).length - 80);
  const managedFields = [{ manager: 'kubectl', fieldsV1: 'f'.repeat(rest / 2) }];
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': 'a'.repeat(rest / 2) };
  return { ...object, metadata: { ...object.metadata, managedFields, annotations } };
}

function service(index: number): object {
  const app = nameOf(index);
  const labels = { app, tier: 'web', 'app.kubernetes.io/part-of': namespaceOf(index) };
  const isForeign = index % FOREIGN_EACH === 0;
  const clusterIP = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  const spec = {
    type: isForeign ? 'LoadBalancer' : 'ClusterIP',
    ...(isForeign && { loadBalancerClass: 'example.com/another' }),
    ...{ clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    selector: { app },
    ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
  };
  const object = { metadata: metadata(index, app, labels), spec, status: { loadBalancer: {} } };
  return padded(object, SERVICE_BYTES);
}

function slice(index: number): object {
  const labels = { 'kubernetes.io/service-name': nameOf(index) };
  const endpoints = [
    {
      addresses: ['10.244.0.7'],
      conditions: { ready: true },
      nodeName: `node-${index % 1000}`,
    },
  ];
  const object = {
    metadata: metadata(index, `${nameOf(index)}-abcde`, labels),
    ...{ addressType: 'IPv4', endpoints, ports: [{ port: 8080 }] },
  };
  return padded(object, SLICE_BYTES);
}
