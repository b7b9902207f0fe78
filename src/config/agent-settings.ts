/**
 * The agent's settings: one table for flags, environment, the settings file and the documentation (docs/settings.md is made
 * of it). Flags beat HERALD_* variables, those beat the file, that beats the default.
 *
 * Only the process is configured here. Peers, pools and claims are documents. Every value is kept as it was written and read
 * by its row, so `5x` is refused and `010` is ten, from every source alike.
 */

import { parseAddress, parseRouterId } from 'bgp-ts';
import { parsePin, parseTarget } from '../checks/parse-target.ts';
import { LOG_LEVELS } from '../log/log.ts';
import { LONGEST_LEASE_SECONDS, SHORTEST_LEASE_SECONDS } from '../model/lease-times.ts';
import { parseListenAddress } from '../telemetry/listen-address.ts';
import { API_SETTINGS } from './api-settings.ts';
import { parseSources } from './document-sources.ts';
import {
  anything,
  oneOf,
  optional,
  path,
  row,
  type SettingRow,
  seconds,
  wholeNumber,
  yesNo,
} from './setting-row.ts';

export const SETTINGS = {
  source: row(
    'source',
    'SOURCE',
    'files:/etc/herald',
    parseSources,
    'where the documents are: files:DIR, a directory of YAML files; kube, the cluster; kube,files:DIR, both, and files win',
  ),
  nodeName: row(
    'node-name',
    'NAME',
    '',
    anything,
    "this machine's name, in a cluster that of its Node; default: $NODE_NAME, else its hostname",
  ),
  ...API_SETTINGS,
  kubeProxyCheck: row(
    'kube-proxy-check',
    'URL',
    'http://127.0.0.1:10256/healthz',
    proxyCheck,
    "kube-proxy's health: a new Service's route waits for its rules, 5 s at most; `none` where there is no kube-proxy",
  ),
  kubeProxyMetrics: row(
    'kube-proxy-metrics',
    'URL',
    'http://127.0.0.1:10249/metrics',
    proxyCheck,
    "kube-proxy's metrics, which tell when it began to write its rules; `none`: only its health is asked",
  ),
  withController: yesNo(
    'with-controller',
    'false',
    'be the controller too: simple mode, in one process',
  ),
  singleAnnouncer: yesNo(
    'single-announcer',
    'false',
    "in simple mode with one replica that may start on another node: announce anycast claims only as the holder of the controller's Lease",
  ),
  defaultClass: yesNo(
    'default-class',
    'false',
    'in simple mode: also take Services of type LoadBalancer that name no loadBalancerClass',
  ),
  nodeLabels: row(
    'node-labels',
    'K=V,…',
    '',
    parseLabels,
    "this machine's labels, for nodeSelectors; kubernetes.io/hostname is always among them",
  ),
  asn: row(
    'asn',
    'N',
    '',
    optional(wholeNumber(1, 0xfffffffe)),
    'our AS number for peers that name no localASN',
  ),
  routerId: row(
    'router-id',
    'A.B.C.D',
    '',
    optional(routerId),
    "BGP identifier; default: the IPv4 address of this machine's default route, else its first one (none that Herald has put there, none of a bridge of guests alone; a /32 on lo only where there is no other), waited for up to 3 s, else one made of its name; kept over restarts, but for the last",
  ),
  listenAddress: row(
    'listen-address',
    'ADDRESS',
    '',
    optional(address),
    'address to accept sessions on, where a peer says `listen: true`; default: all',
  ),
  listenPort: row(
    'listen-port',
    'PORT',
    '179',
    wholeNumber(1, 65_535),
    'port to accept sessions on, where a peer says `listen: true`',
  ),
  stateDir: row(
    'state-dir',
    'DIR',
    '/var/lib/herald',
    path,
    'where the last View is saved (no secrets in it)',
  ),
  socket: row(
    'socket',
    'PATH',
    '/run/herald/agent.sock',
    path,
    'the control socket, for `herald status` and its kin; one agent per socket',
  ),
  metricsAddress: row(
    'metrics-address',
    'ADDRESS:PORT',
    'off',
    parseListenAddress,
    'where /metrics, /livez and /readyz are served; an address alone means port 9179',
  ),
  podName: row(
    'pod-name',
    'NAME',
    '',
    anything,
    'the pod that this agent is, in herald-system; without it no stop is a planned restart',
  ),
  logLevel: row('log-level', 'LEVEL', 'info', oneOf(LOG_LEVELS), `one of ${LOG_LEVELS.join(', ')}`),
  joinCheck: row(
    'join-check',
    'URL',
    '',
    joinCheck,
    'what must answer before anything is announced: https://…, http://…, tcp://HOST:PORT, file:PATH, exec:COMMAND, or `none`',
  ),
  joinCa: row(
    'join-ca',
    'FILE',
    '',
    anything,
    "PEM file of the authority that signed the join check's certificate; read at every attempt",
  ),
  joinPin: row(
    'join-pin',
    'SHA256',
    '',
    optional(pin),
    "SHA-256 of the join check's certificate, in place of an authority",
  ),
  joinSuccesses: row(
    'join-successes',
    'K',
    '2',
    wholeNumber(1, 1000),
    'answers in a row that open the gate',
  ),
  joinFailures: row(
    'join-failures',
    'K',
    '3',
    wholeNumber(1, 1000),
    'failures in a row that close it',
  ),
  joinInterval: row(
    'join-interval',
    'SECONDS',
    '1',
    seconds(0.05),
    'from one question to the next',
  ),
  joinTimeout: row('join-timeout', 'SECONDS', '1', seconds(0.05), 'how long an answer may take'),
  joinSettle: row(
    'join-settle',
    'SECONDS',
    '0',
    seconds(0),
    'how long the successes must have lasted',
  ),
  leaseDuration: row(
    'lease-duration',
    'SECONDS',
    String(LONGEST_LEASE_SECONDS),
    wholeNumber(SHORTEST_LEASE_SECONDS, LONGEST_LEASE_SECONDS),
    'exclusive addresses: another node gets them when this one has been silent for so long (and its routers have forgotten it). A third of it apart the node writes its Lease: see kubernetes.md for the cost',
  ),
  maxStale: row(
    'max-stale',
    'SECONDS',
    '86400',
    seconds(0),
    'how long a saved View counts while its source cannot be read',
  ),
  stopGrace: row(
    'stop-grace',
    'SECONDS',
    '60',
    seconds(0),
    'how long a stop may take until this process is killed (terminationGracePeriodSeconds of its pod, TimeoutStopSec of its unit): exclusive claims of the cluster stay announced, de-preferred, until another node has them, for this time less 20 s at most; no drain of a stop is longer than this less 5 s',
  ),
} as const satisfies Readonly<Record<string, SettingRow>>;

export type SettingName = keyof typeof SETTINGS;

/** Every setting as text that its row has accepted. */
export type SettingTexts = Readonly<Record<SettingName, string>>;

function proxyCheck(text: string): void {
  if (text === 'none') return;
  const parsed = text.startsWith('http:') ? parseTarget(text) : undefined;
  if (parsed?.ok !== true) throw new Error('write http://HOST:PORT/PATH, or none');
}

function address(text: string): void {
  if (parseAddress(text) === undefined) throw new Error('write an IPv4 or IPv6 address');
}

function routerId(text: string): void {
  if ((parseRouterId(text) ?? 0) === 0) throw new Error('write it as an IPv4 address, not 0.0.0.0');
}

function pin(text: string): void {
  if (parsePin(text) === undefined) throw new Error('write 64 hex digits; colons are fine');
}

function joinCheck(text: string): void {
  if (text === '' || text === 'none') return;
  // certificates are looked at together with it, in join-check.ts
  const parsed = parseTarget(text, text.startsWith('https:') ? { caFile: 'any' } : {});
  if (!parsed.ok) throw new Error(parsed.sentence);
}

/** `a=b,c=d`; throws a sentence */
export function parseLabels(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter((part) => part.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new Error(`'${pair}' is no label: write KEY=VALUE,KEY=VALUE`);
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    }),
  );
}
