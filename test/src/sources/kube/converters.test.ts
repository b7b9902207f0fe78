import { formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { RESTARTING_ANNOTATION } from '../../../../src/model/names.ts';
import { nodeKey } from '../../../../src/model/node-key.ts';
import type { KubeObject } from '../../../../src/sources/kube/api.ts';
import {
  convertClaimObject,
  convertPeerObject,
  convertPoolObject,
} from '../../../../src/sources/kube/convert-documents.ts';
import { convertEndpointSlice } from '../../../../src/sources/kube/convert-endpoint-slice.ts';
import { convertIpNode } from '../../../../src/sources/kube/convert-ip-node.ts';
import { convertLease } from '../../../../src/sources/kube/convert-lease.ts';
import { convertNode } from '../../../../src/sources/kube/convert-node.ts';
import { convertService } from '../../../../src/sources/kube/convert-service.ts';

const metadata = (more: object = {}) => ({
  name: 'web',
  namespace: 'shop',
  uid: 'u-1',
  resourceVersion: '42',
  ...more,
});
const object = (parts: object, more: object = {}): KubeObject => ({
  metadata: metadata(more),
  ...parts,
});

describe('a Service of the API', () => {
  const full = object(
    {
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'herald.dev/herald',
        loadBalancerIP: '192.0.2.9',
        externalIPs: ['198.51.100.1'],
        ipFamilies: ['IPv6', 'IPv4'],
        ipFamilyPolicy: 'PreferDualStack',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30_001,
        ports: [
          { port: 80, protocol: 'TCP', name: 'http' },
          { port: 53, protocol: 'UDP' },
          { port: 81 },
        ],
        selector: { app: 'web' },
      },
      status: {
        loadBalancer: { ingress: [{ ip: '192.0.2.9', ipMode: 'VIP' }, { ip: '2001:db8::9' }] },
        conditions: [
          {
            type: 'herald.dev/Advertised',
            status: 'True',
            reason: 'All',
            message: 'by 3 of 3',
            lastTransitionTime: '2026-01-01T00:00:00Z',
            observedGeneration: 2,
          },
        ],
      },
    },
    {
      creationTimestamp: '2026-01-01T00:00:01Z',
      labels: { a: 'b' },
      annotations: {
        'herald.dev/pool': 'blue',
        'kubectl.kubernetes.io/last-applied-configuration': '{"much":"text"}',
      },
    },
  );

  it('is read with all that Herald looks at', () => {
    const service = convertService(full);
    expect(service).to.deep.include({
      namespace: 'shop',
      name: 'web',
      uid: 'u-1',
      resourceVersion: '42',
      createdMs: Date.UTC(2026, 0, 1, 0, 0, 1),
      labels: { a: 'b' },
      annotations: { 'herald.dev/pool': 'blue' },
      isBeingDeleted: false,
      isLoadBalancer: true,
      loadBalancerClass: 'herald.dev/herald',
      loadBalancerIp: '192.0.2.9',
      externalIps: ['198.51.100.1'],
      families: ['ipv6', 'ipv4'],
      familyPolicy: 'PreferDualStack',
      isLocal: true,
      healthCheckNodePort: 30_001,
      ports: [
        { protocol: 'TCP', port: 80 },
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 81 },
      ],
      selector: { app: 'web' },
      hasForeignIngress: false,
      conditions: [
        {
          type: 'herald.dev/Advertised',
          status: 'True',
          reason: 'All',
          message: 'by 3 of 3',
          lastTransitionTime: '2026-01-01T00:00:00Z',
          observedGeneration: 2,
        },
      ],
    });
    expect(service?.ingress.map(formatAddress)).to.deep.equal(['192.0.2.9', '2001:db8::9']);
  });

  it('may have next to nothing', () => {
    expect(convertService(object({}))).to.deep.equal({
      namespace: 'shop',
      name: 'web',
      uid: 'u-1',
      resourceVersion: '42',
      createdMs: 0,
      labels: {},
      annotations: {},
      isBeingDeleted: false,
      isLoadBalancer: false,
      externalIps: [],
      families: ['ipv4'],
      familyPolicy: 'SingleStack',
      isLocal: false,
      ports: [],
      selector: {},
      ingress: [],
      hasForeignIngress: false,
      conditions: [],
    });
    expect(convertService({ metadata: { name: 'x', uid: '', resourceVersion: '' } })).to.equal(
      undefined,
    );
  });

  it('takes its family by its cluster address where it has none', () => {
    expect(convertService(object({ spec: { clusterIP: 'fd00::1' } }))?.families).to.deep.equal([
      'ipv6',
    ]);
  });

  it('has a foreign ingress where one is a name, or cannot be read', () => {
    const ingress = (...entries: object[]) =>
      convertService(object({ status: { loadBalancer: { ingress: entries } } }))?.hasForeignIngress;
    expect(ingress({ hostname: 'lb.example.com' })).to.equal(true);
    expect(ingress({ ip: 'not-an-address' })).to.equal(true);
    expect(ingress({ ip: '192.0.2.1' }, { hostname: 'lb.example.com' })).to.equal(true);
    expect(ingress({ ip: '192.0.2.1', hostname: 'lb.example.com' })).to.equal(true);
    expect(ingress({ ip: '192.0.2.1' })).to.equal(false);
  });

  it('that is being deleted says so', () => {
    const service = convertService(object({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    expect(service?.isBeingDeleted).to.equal(true);
  });
});

describe('a Node of the API', () => {
  it('is read with taints, readiness, boot and addresses', () => {
    const node = convertNode(
      object({
        spec: {
          unschedulable: true,
          taints: [
            { key: 'k', effect: 'NoSchedule' },
            { key: 'l', value: 'v', effect: 'NoExecute' },
            {},
          ],
        },
        status: {
          conditions: [
            { type: 'MemoryPressure', status: 'False' },
            { type: 'Ready', status: 'True' },
          ],
          nodeInfo: { bootID: 'boot-1' },
          addresses: [
            { type: 'Hostname', address: 'n' },
            { type: 'InternalIP', address: '192.0.2.1' },
            { type: 'ExternalIP', address: '203.0.113.1' },
          ],
        },
      }),
    );
    expect(node).to.deep.equal({
      name: 'web',
      uid: 'u-1',
      labels: {},
      taints: [
        { key: 'k', effect: 'NoSchedule' },
        { key: 'l', value: 'v', effect: 'NoExecute' },
      ],
      isUnschedulable: true,
      isBeingDeleted: false,
      ready: 'true',
      bootId: 'boot-1',
      addresses: ['192.0.2.1', '203.0.113.1'],
    });
  });

  it('is of unknown readiness where nobody has said anything', () => {
    const ready = (conditions: unknown) => convertNode(object({ status: { conditions } }))?.ready;
    expect(ready(undefined)).to.equal('unknown');
    expect(ready([{ type: 'Ready', status: 'Unknown' }])).to.equal('unknown');
    expect(ready([{ type: 'Ready', status: 'False' }])).to.equal('false');
  });
});

describe('an EndpointSlice of the API', () => {
  it('counts who is ready, and who still serves while it terminates', () => {
    const endpoints = [
      { conditions: { ready: true } },
      { conditions: {} },
      {},
      { conditions: { ready: false, serving: true, terminating: true } },
      { conditions: { ready: false, serving: false, terminating: true } },
      { conditions: { ready: false } },
      { conditions: { ready: false, serving: true, terminating: false } },
    ];
    const labels = { 'kubernetes.io/service-name': 'web' };
    expect(convertEndpointSlice(object({ endpoints }, { name: 'web-1', labels }))).to.deep.equal({
      namespace: 'shop',
      name: 'web-1',
      service: 'web',
      usable: 4,
    });
    expect(convertEndpointSlice(object({ endpoints: null }))?.usable).to.equal(0);
  });

  it('names the nodes of those that it counts, each once', () => {
    const endpoints = [
      { nodeName: 'b' },
      { nodeName: 'a' },
      { nodeName: 'b' },
      { nodeName: '' },
      { nodeName: 'c', conditions: { ready: false } },
      { nodeName: 7 },
    ];
    const keys = ['a', 'b'].map(nodeKey).toSorted((one, other) => one - other);
    expect(convertEndpointSlice(object({ endpoints }))?.nodes).to.deep.equal(
      Float64Array.from(keys),
    );
    expect(convertEndpointSlice(object({ endpoints: [{}] }))).not.to.have.property('nodes');
  });

  it('knows the families of addresses, and no other kind', () => {
    const family = (addressType: unknown) => convertEndpointSlice(object({ addressType }))?.family;
    expect(['IPv4', 'IPv6', 'FQDN', 4].map(family)).to.deep.equal([
      ...['ipv4', 'ipv6', undefined, undefined],
    ]);
  });
});

describe('a Lease of the API', () => {
  it('is read as it was written', () => {
    const spec = {
      holderIdentity: 'node-a',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseDurationSeconds: 15,
      leaseTransitions: 3,
    };
    expect(convertLease(object({ spec }))).to.deep.equal({
      name: 'web',
      uid: 'u-1',
      resourceVersion: '42',
      holder: 'node-a',
      renewTime: '2026-01-01T00:00:00.000000Z',
      durationSeconds: 15,
      transitions: 3,
    });
    expect(convertLease(object({ spec: { holderIdentity: '' } }))).not.to.have.property('holder');
    // the longest that a node says (decision 0074)
    const annotations = { [RESTARTING_ANNOTATION]: '65538' };
    expect(convertLease(object({ spec }, { annotations }))).to.include({
      restartingSeconds: 65_538,
    });
  });
});

describe('an IPNode of the API', () => {
  it('is read with what the controller waits for', () => {
    const status = {
      joined: { open: true, reason: 'Joined', message: 'm', since: 's' },
      draining: { reason: 'Cordon', since: 's' },
      sessions: [
        { peer: 'p', address: '192.0.2.1', state: 'Established', routesSent: 3 },
        { peer: 'q' },
      ],
      routes: 3,
      levels: [
        { address: '192.0.2.7', level: 1 },
        { address: 'x', level: 9 },
      ],
      observedClaims: '77',
      conditions: [{ type: 'AgentAlive', status: 'True', reason: 'r', message: '' }],
    };
    expect(convertIpNode(object({ status }))?.status).to.deep.equal({
      ...status,
      sessions: [{ peer: 'p', address: '192.0.2.1', state: 'Established', routesSent: 3 }],
      levels: [{ address: '192.0.2.7', level: 1 }],
    });
    expect(convertIpNode(object({}))?.status).to.deep.equal({});
  });
});

describe('our own kinds from the API', () => {
  it('are what the same document in a file is', () => {
    const spec = { pool: 'blue', services: [{ namespace: 'shop', name: 'web', uid: 'u' }] };
    const converted = convertClaimObject({ metadata: { ...metadata(), name: '192.0.2.7' }, spec });
    expect(converted).to.deep.nested.include({
      ok: true,
      'object.pool': 'blue',
      'object.services': spec.services,
    });
  });

  it('are refused with the same sentences', () => {
    const spec = {
      checks: [
        {
          exec: { command: ['rm'] },
          intervalSeconds: 1,
          timeoutSeconds: 1,
          successes: 1,
          failures: 1,
          settleSeconds: 0,
        },
      ],
    };
    const converted = convertClaimObject({ metadata: { ...metadata(), name: '192.0.2.7' }, spec });
    expect(converted)
      .to.have.property('sentence')
      .that.includes('legal in documents from files only');
  });

  it('name no file of the node: caFile is refused, and what may be used instead is said (A3)', () => {
    const timing = { intervalSeconds: 1, timeoutSeconds: 1, successes: 1, failures: 1 };
    const http = { url: 'https://127.0.0.1:6443/readyz', caFile: '/dev/zero' };
    const spec = { checks: [{ http, ...timing, settleSeconds: 0 }] };
    const converted = convertClaimObject({ metadata: { ...metadata(), name: '192.0.2.7' }, spec });
    expect(converted).to.have.property('sentence').that.includes('use pinSHA256');
  });

  it('of an older schema are refusals, not errors', () => {
    const odd = object({ spec: { addresses: 'all of them' } });
    for (const convert of [convertClaimObject, convertPoolObject, convertPeerObject]) {
      const converted = convert(odd);
      expect(converted.ok).to.equal(false);
      expect(converted).to.have.property('sentence').that.is.a('string');
    }
    expect(convertPoolObject(odd)).to.have.property('sentence').that.includes('apply it again');
  });
});

describe('converters', () => {
  it('never throw, whatever stands in an object', () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    const keyed = (...keys: string[]) => fc.dictionary(fc.constantFrom(...keys), json);
    const spec = keyed(
      'type',
      'ports',
      'ipFamilies',
      'externalIPs',
      'taints',
      'selector',
      'addresses',
      'checks',
      'services',
      'timers',
      'healthCheckNodePort',
    );
    const status = keyed(
      'loadBalancer',
      'conditions',
      'addresses',
      'joined',
      'sessions',
      'levels',
      'draining',
      'refused',
      'nodeInfo',
    );
    const arbitrary = fc.record({
      metadata: fc.record({
        name: fc.string(),
        namespace: fc.string(),
        uid: fc.string(),
        resourceVersion: fc.string(),
        labels: json,
        annotations: json,
        creationTimestamp: json,
      }),
      spec: fc.oneof(json, spec),
      status: fc.oneof(json, status),
      endpoints: json,
    });
    fc.assert(
      fc.property(arbitrary, (value) => {
        // as it comes out of JSON.parse: of any shape
        const found: KubeObject = JSON.parse(JSON.stringify(value));
        for (const convert of [
          convertService,
          convertNode,
          convertEndpointSlice,
          convertLease,
          convertIpNode,
          convertClaimObject,
          convertPoolObject,
          convertPeerObject,
        ]) {
          convert(found);
        }
      }),
      { numRuns: 500 },
    );
  });
});
