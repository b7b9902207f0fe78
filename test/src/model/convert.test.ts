/** Conversion of what passed the schema: defaults as values, text as addresses, and what depends on where a document comes from. */

import { address, ipv4, ipv6, prefix, routerId } from 'bgp-ts';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { convertClaim } from '../../../src/model/convert-claim.ts';
import { convertPeer } from '../../../src/model/convert-peer.ts';
import { convertPool } from '../../../src/model/convert-pool.ts';
import type { Converted } from '../../../src/model/refusal.ts';
import { VALIDATORS } from '../../../src/sources/files/crd-schema.ts';

/** a document with its defaults, as it comes out of the schema */
function document(kind: 'BGPPeer' | 'IPPool' | 'IPClaim', name: string, spec: string): unknown {
  const head = `apiVersion: herald.dev/v1alpha1\nkind: ${kind}\nmetadata: {name: ${name}, labels: {a: b}}`;
  const value = load(`${head}\nspec: ${spec}\n`);
  expect(VALIDATORS[kind](value), JSON.stringify(VALIDATORS[kind].errors)).to.equal(true);
  return value;
}

function taken<T>(result: Converted<T>): T {
  if (!result.ok) throw new Error(result.sentence);
  return result.object;
}

const peer = (spec: string, source: 'files' | 'api' = 'files') =>
  convertPeer(document('BGPPeer', 'r1', spec), source);
const pool = (spec: string) => convertPool(document('IPPool', 'p1', spec));
const claim = (spec: string, source: 'files' | 'api' = 'files', name = '192.0.2.7') =>
  convertClaim(document('IPClaim', name, spec), source);

describe('convertPeer', () => {
  it('fills in what DESIGN promises', () => {
    expect(taken(peer('{address: 192.0.2.1, asn: 65000}'))).to.deep.equal({
      name: 'r1',
      labels: { a: 'b' },
      target: { kind: 'address', address: ipv4('192.0.2.1') },
      port: 179,
      asn: 65000,
      families: ['ipv4', 'ipv6'],
      timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
      ttlSecurity: false,
      nextHop: {},
      listen: false,
      maxRoutes: 500,
      overrides: [],
    });
  });

  it('takes every field', () => {
    const spec = `{address: "fe80::1%eth0", port: 1179, asn: internal, localASN: 65001, families: [ipv6],
      timers: {holdSeconds: 0}, password: {file: /k}, multihop: 2, sourceAddress: "fe80::2", sourceInterface: eth1,
      nextHop: {ipv4: 192.0.2.3, ipv6: "2001:db8::3"}, listen: true, maxRoutes: 7, gracefulRestart: {},
      nodeSelector: {matchLabels: {x: y}, matchExpressions: [{key: k, operator: In, values: [v]}]},
      overrides: [{nodeSelector: {}, address: 192.0.2.9, localASN: 5, sourceAddress: 192.0.2.8, routerID: 10.0.0.1}]}`;
    expect(taken(peer(spec))).to.deep.include({
      target: { kind: 'address', address: ipv6('fe80::1'), zone: 'eth0' },
      port: 1179,
      asn: 'internal',
      localAsn: 65001,
      families: ['ipv6'],
      timers: { holdSeconds: 0, keepaliveSeconds: 3, connectRetrySeconds: 5 },
      password: { kind: 'file', path: '/k' },
      multihop: 2,
      sourceAddress: ipv6('fe80::2'),
      sourceInterface: 'eth1',
      nextHop: { ipv4: ipv4('192.0.2.3'), ipv6: ipv6('2001:db8::3') },
      listen: true,
      maxRoutes: 7,
      gracefulRestart: { restartSeconds: 30 },
      nodeSelector: {
        matchLabels: { x: 'y' },
        matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }],
      },
      overrides: [
        {
          nodeSelector: {},
          address: ipv4('192.0.2.9'),
          localAsn: 5,
          sourceAddress: ipv4('192.0.2.8'),
          routerId: routerId('10.0.0.1'),
        },
      ],
    });
  });

  it('masks a range', () => {
    const { target } = taken(peer('{addressRange: 192.0.2.77/24, listen: true, asn: external}'));
    expect(target).to.deep.equal({ kind: 'range', range: prefix('192.0.2.0/24') });
  });

  it('takes a Secret in the cluster only, and a file in files only', () => {
    const secret = '{address: 192.0.2.1, asn: 1, password: {secret: s}}';
    const file = '{address: 192.0.2.1, asn: 1, password: {file: /k}}';
    expect(taken(peer(secret, 'api')).password).to.deep.equal({ kind: 'secret', name: 's' });
    expect(peer(secret, 'files')).to.include({ ok: false });
    expect(peer(file, 'api')).to.deep.include({ ok: false, path: ['spec', 'password', 'file'] });
  });
});

describe('convertPool', () => {
  it('takes whom it is for', () => {
    const text = `{addresses: [192.0.2.0/30], namespaces: {names: [a], selector: {matchLabels: {t: x}}},
      serviceSelector: {matchLabels: {u: y}}, shareAcross: [a, b], allowExternalIPs: true, ignoreExcludeLabel: true}`;
    expect(taken(pool(text))).to.deep.include({
      namespaces: { names: ['a'], selector: { matchLabels: { t: 'x' } } },
      serviceSelector: { matchLabels: { u: 'y' } },
      shareAcross: ['a', 'b'],
      allowExternalIps: true,
      ignoreExcludeLabel: true,
    });
  });

  it('fills in what DESIGN promises', () => {
    expect(taken(pool('{addresses: [192.0.2.0/30]}'))).to.deep.equal({
      name: 'p1',
      labels: { a: 'b' },
      ranges: [{ first: address('192.0.2.0'), last: address('192.0.2.3'), text: '192.0.2.0/30' }],
      avoidFirstLast: false,
      autoAssign: true,
      priority: 0,
      shareAcross: [],
      allowExternalIps: false,
      ignoreExcludeLabel: false,
      placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 },
      advertisements: [],
      drain: { on: ['stop', 'exclude-label'], waitSeconds: 10 },
      notReady: 'keep',
    });
  });

  it('sorts communities by their size', () => {
    const spec = `{addresses: [192.0.2.0/24], advertisements: [{communities: ["65000:1", no-export, "1:2:3"], localPref: 5,
      med: 6, prepend: 1, peerSelector: {matchLabels: {r: t}}}]}`;
    expect(taken(pool(spec)).advertisements).to.deep.equal([
      {
        peerSelector: { matchLabels: { r: 't' } },
        communities: [0xfde80001, 0xffffff01],
        largeCommunities: [{ global: 1, local1: 2, local2: 3 }],
        localPref: 5,
        med: 6,
        prepend: 1,
        discardRoute: false,
      },
    ]);
  });
});

describe('convertPool and addresses that no router takes a host route to', () => {
  const bad = [
    '0.0.0.0/0',
    '240.0.0.0/24',
    '169.254.0.0/16',
    '126.0.0.0/7',
    '223.255.255.255-224.0.0.1',
  ];
  const badIpv6 = ['::/64', '::1', 'fe80::/64', 'fec0::-ff00::', 'ff02::1', '::ffff:0:0/112'];
  for (const text of [...bad, ...badIpv6]) {
    it(`refuses ${text}`, () => {
      const result = pool(`{addresses: ["${text}"]}`);
      if (result.ok) throw new Error('it was taken');
      expect(result.sentence).to.match(/reaches into .* is none that a router takes a route to/);
    });
  }

  it('takes what lies beside them', () => {
    const texts = ['1.0.0.0/8', '126.0.0.0/8', '169.253.0.0/16', '223.0.0.0/8'];
    const ipv6Texts = ['::2', '2000::/3', 'fc00::/7', 'fec0::/10'];
    for (const text of [...texts, ...ipv6Texts]) {
      expect(pool(`{addresses: ["${text}"]}`), text).to.include({ ok: true });
    }
  });
});

describe('convertClaim', () => {
  it('reads the address from the name', () => {
    expect(taken(claim('{}'))).to.deep.equal({
      name: '192.0.2.7',
      address: ipv4('192.0.2.7'),
      labels: { a: 'b' },
      services: [],
      checks: [],
    });
    const name = '2001-0db8-0000-0000-0000-0000-0000-0007';
    expect(taken(claim('{}', 'files', name)).address).to.deep.equal(ipv6('2001:db8::7'));
  });

  it('takes every kind of check, in milliseconds', () => {
    const spec = `{checks: [{http: {url: "https://127.0.0.1/", pinSHA256: "${'AB:'.repeat(31)}AB"}, intervalSeconds: 0.1, settleSeconds: 0.25},
      {tcp: {host: h, port: 1}}, {file: {path: /f}}, {exec: {command: [a, b]}}]}`;
    const { checks } = taken(claim(spec));
    expect(checks[0]).to.deep.equal({
      target: { kind: 'http', url: 'https://127.0.0.1/', pin: 'ab'.repeat(32) },
      intervalMs: 100,
      timeoutMs: 1000,
      successes: 2,
      failures: 3,
      settleMs: 250,
    });
    expect(checks.slice(1).map(({ target }) => target)).to.deep.equal([
      { kind: 'tcp', host: 'h', port: 1 },
      { kind: 'file', path: '/f' },
      { kind: 'exec', command: ['a', 'b'] },
    ]);
  });

  it('refuses a command whose program has no name: a View that was saved with it would not be used', () => {
    expect(claim('{checks: [{exec: {command: ["", x]}}]}')).to.include({ ok: false });
    expect(claim('{checks: [{exec: {command: [x, ""]}}]}')).to.include({ ok: true });
  });

  it('never takes a file or exec check from the API, where it would run on every node', () => {
    for (const check of ['file: {path: /f}', 'exec: {command: [a]}']) {
      expect(claim(`{checks: [{${check}}]}`, 'api'), check).to.include({ ok: false });
    }
    expect(claim('{checks: [{tcp: {host: h, port: 1}}]}', 'api')).to.include({ ok: true });
  });

  it('refuses addresses that no router takes a host route to', () => {
    const names = ['0.1.2.3', '127.0.0.1', '169.254.1.1', '224.0.0.1', '255.255.255.255'];
    const ipv6Names = [
      '0000-0000-0000-0000-0000-0000-0000-0001',
      'fe80-0000-0000-0000-0000-0000-0000-0001',
      'ff02-0000-0000-0000-0000-0000-0000-0001',
    ];
    for (const name of [...names, ...ipv6Names]) {
      expect(claim('{}', 'files', name), name).to.include({ ok: false });
    }
  });
});
