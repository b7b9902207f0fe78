/**
 * What a saved View must look like to be used, as deep as anything reads it. A disk may have lost a piece of the file, somebody may have edited it,
 * another release may have written it: that is found here, before anything goes by it. Pure.
 *
 * What Views of 0.1 do not have may be absent. A field that a later release adds is not looked at.
 */

import { type Address, compareAddress } from 'bgp-ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { AddressRange } from '../model/ip-pool.ts';
import type { SavedDrains } from './saved-view.ts';
import {
  all,
  flag,
  kinds,
  listOf,
  object,
  oneOf,
  recordOf,
  type Shape,
  text,
  texts,
  whole,
} from './shapes.ts';

const UINT32 = 0xffff_ffff;
const INT32 = 2 ** 31;
/** wall-clock milliseconds that are a date (ECMA-262 §21.4.1.1) */
const LAST_DATE = 8.64e15;
const COUNT = Number.MAX_SAFE_INTEGER;

const word = whole(-INT32, INT32 - 1);
const uint32 = whole(0, UINT32);
const asn = whole(1, UINT32);
const port = whole(1, 65_535);
const moment: Shape = (value, path) =>
  typeof value === 'number' && Math.abs(value) <= LAST_DATE ? undefined : `${path} is no time`;
const durationMs = whole(0, INT32 - 1);

const ipv4 = { family: oneOf('ipv4'), bits: word };
const ipv6 = { family: oneOf('ipv6'), w0: word, w1: word, w2: word, w3: word };
const address = kinds('family', { ipv4: object(ipv4), ipv6: object(ipv6) });
const prefix = kinds('family', {
  ipv4: object({ ...ipv4, length: whole(0, 32) }),
  ipv6: object({ ...ipv6, length: whole(0, 128) }),
});

const labels = recordOf(text);
const selector = object(
  {},
  {
    matchLabels: labels,
    matchExpressions: listOf(
      object(
        { key: text, operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist') },
        { values: texts },
      ),
    ),
  },
);

const override = object(
  {},
  {
    nodeSelector: selector,
    address,
    zone: text,
    localAsn: asn,
    sourceAddress: address,
    routerId: uint32,
  },
);

const peer = object(
  {
    name: text,
    labels,
    target: kinds('kind', {
      address: object({ address }, { zone: text }),
      range: object({ range: prefix }),
    }),
    port,
    asn: (value, path) =>
      typeof value === 'string' ? oneOf('external', 'internal')(value, path) : asn(value, path),
    families: listOf(oneOf('ipv4', 'ipv6')),
    timers: object({
      holdSeconds: whole(0, 65_535),
      keepaliveSeconds: whole(0, 65_535),
      connectRetrySeconds: whole(1, 65_535),
    }),
    ttlSecurity: flag,
    nextHop: object({}, { ipv4: object(ipv4), ipv6: object(ipv6) }),
    listen: flag,
    maxRoutes: whole(0, COUNT),
    overrides: listOf(override),
  },
  {
    localAsn: asn,
    password: kinds('kind', { file: object({ path: text }), secret: object({ name: text }) }),
    multihop: whole(1, 255),
    sourceAddress: address,
    sourceInterface: text,
    extendedNextHop: oneOf(true),
    gracefulRestart: object({ restartSeconds: whole(0, 4095) }),
    nodeSelector: selector,
  },
);

const range = all(object({ first: address, last: address, text }, { masked: flag }), isInOrder);

function isInOrder(value: unknown, path: string): string | undefined {
  const { first, last } = value as AddressRange;
  if (first.family === last.family && compareAddress(first, last) <= 0) return undefined;
  return `${path} ends before it begins`;
}

const placementFields = {
  mode: oneOf('anycast', 'exclusive'),
  nodeFilter: oneOf('fair', 'first-alive'),
  prependStep: whole(0, 255),
};

const advertisement = object(
  {
    communities: listOf(uint32),
    largeCommunities: listOf(object({ global: uint32, local1: uint32, local2: uint32 })),
    discardRoute: flag,
  },
  {
    peerSelector: selector,
    nodeSelector: selector,
    localPref: uint32,
    med: uint32,
    prepend: whole(0, 255),
    aggregationLength: object({}, { ipv4: whole(0, 32), ipv6: whole(0, 128) }),
  },
);

const pool = object(
  {
    name: text,
    labels,
    ranges: listOf(range),
    avoidFirstLast: flag,
    autoAssign: flag,
    priority: whole(-COUNT, COUNT),
    shareAcross: texts,
    allowExternalIps: flag,
    ignoreExcludeLabel: flag,
    placement: object(placementFields, { nodeSelector: selector }),
    advertisements: listOf(advertisement),
    drain: object({ on: texts, waitSeconds: whole(0, INT32 / 1000) }),
    notReady: oneOf('keep', 'withdraw'),
  },
  {
    namespaces: object({ names: texts }, { selector, maxAddresses: whole(0, COUNT) }),
    serviceSelector: selector,
    hasExclusiveClaims: oneOf(true),
  },
);

const url: Shape = (value, path) =>
  typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
    ? undefined
    : `${path} is no URL`;

const check = object({
  target: kinds('kind', {
    http: object({ url }, { caFile: text, pin: text, isDiscreet: oneOf(true) }),
    tcp: object({ host: text, port }),
    file: object({ path: text }),
    exec: object({ command: all(texts, isFilled) }),
  }),
  intervalMs: whole(1, INT32 - 1),
  timeoutMs: whole(1, INT32 - 1),
  successes: whole(1, COUNT),
  failures: whole(1, COUNT),
  settleMs: durationMs,
});

function isFilled(value: unknown, path: string): string | undefined {
  const [first] = value as readonly string[];
  return first === undefined || first === '' ? `${path} names no program` : undefined;
}

const claim = all(
  object(
    {
      name: text,
      address,
      labels,
      services: listOf(
        object({ namespace: text, name: text }, { uid: text, healthCheckNodePort: port }),
      ),
      checks: listOf(check),
    },
    {
      pool: text,
      node: text,
      epoch: whole(0, COUNT),
      withdrawn: object({ reason: text }),
      placement: object({}, { ...placementFields, nodeSelector: selector }),
      bind: object({ interface: text }),
    },
  ),
  isNamedRight,
);

function isNamedRight(value: unknown, path: string): string | undefined {
  const one = value as { readonly name: string; readonly address: Address };
  return formatClaimName(one.address) === one.name
    ? undefined
    : `${path}.name is '${one.name}', and its address is another one`;
}

function sourced(shape: Shape): Shape {
  const may = { source: oneOf('files', 'api') };
  return object({ object: shape, origin: text, createdMs: moment }, may);
}

const node = object(
  {
    name: text,
    uid: text,
    labels,
    taints: listOf(object({ key: text, effect: text }, { value: text })),
    isUnschedulable: flag,
    isBeingDeleted: flag,
    ready: oneOf('true', 'false', 'unknown'),
    addresses: texts,
  },
  { bootId: text },
);

const pair: Shape = (value, path) =>
  Array.isArray(value) && value.length === 2
    ? texts(value, path)
    : `${path} is no pair of a claim's name and a reason`;

const lost = object({
  name: text,
  router: object({ key: text, connection: text, address: text, asn, localAsn: asn }),
  sinceMs: moment,
  seconds: whole(0, 65_535),
});

/** The first thing that is wrong with it, for people; undefined: it can be used. */
export function savedViewFault(value: unknown): string | undefined {
  return VIEW(value, 'View');
}

/** What a person has said, of a View of which nothing else may be right; undefined: nothing that can be read. */
export function savedDrainsIn(value: unknown): SavedDrains | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { nodeDrain, claimDrains }: { nodeDrain?: unknown; claimDrains?: unknown } = value;
  const claims: SavedDrains['claimDrains'] = Array.isArray(claimDrains)
    ? claimDrains.filter((each) => pair(each, '') === undefined)
    : [];
  if (typeof nodeDrain === 'string') return { nodeDrain, claimDrains: claims };
  return claims.length === 0 ? undefined : { claimDrains: claims };
}

const VIEW = object(
  {
    savedAtMs: moment,
    routerId: whole(1, UINT32),
    documents: object(
      {
        peers: listOf(sourced(peer)),
        pools: listOf(sourced(pool)),
        claims: listOf(sourced(claim)),
      },
      { formerPools: listOf(sourced(pool)) },
    ),
    claimDrains: listOf(pair),
  },
  {
    heardAtMs: object({}, { files: moment, api: moment }),
    nodeDrain: text,
    cluster: object({ node }, { readyBoot: text }),
    clusterMarks: texts,
    isGivenBack: oneOf(true),
    lost: listOf(lost),
    held: listOf(object({ advertisements: listOf(advertisement), claims: texts })),
  },
);
