/** An IPClaim document that has passed the schema → IpClaim. Says what a schema cannot. Pure. */

import type { Address } from 'bgp-ts';
import type { CheckSpec, CheckTarget } from './check-spec.ts';
import { meantClaimName, parseClaimName } from './claim-name.ts';
import { NODE_FILTERS, PLACEMENT_MODES } from './convert-pool.ts';
import { Fields } from './fields.ts';
import { noHostRoute } from './host-route.ts';
import type { ClaimService, IpClaim } from './ip-claim.ts';
import type { Placement } from './ip-pool.ts';
import type { Labels } from './labels.ts';
import { EPOCH_ANNOTATION } from './names.ts';
import { optional } from './optional.ts';
import { type Converted, converted, type DocumentSource } from './refusal.ts';

/** said of a new document and of one that an older release took */
export const CA_FILE_IN_API = 'caFile is legal in documents from files only';

export function convertClaim(document: unknown, source: DocumentSource): Converted<IpClaim> {
  return converted(() => claimOf(new Fields(document), source));
}

function claimOf(document: Fields, source: DocumentSource): IpClaim {
  const metadata = document.object('metadata');
  const spec = document.object('spec');
  const withdrawn = spec.optionalObject('withdrawn');
  const placement = spec.optionalObject('placement');
  const bind = spec.optionalObject('bind');
  return {
    name: metadata.text('name'),
    address: addressOf(metadata),
    labels: metadata.labels('labels'),
    ...optional('pool', spec.optionalText('pool')),
    services: spec.objects('services').map(serviceOf),
    ...optional('node', spec.optionalText('node')),
    ...optional('epoch', source === 'api' ? epochOf(metadata.labels('annotations')) : undefined),
    ...optional('withdrawn', withdrawn && { reason: withdrawn.text('reason') }),
    ...optional('placement', placement && placementOf(placement)),
    ...optional('bind', bind && { interface: bind.text('interface') }),
    checks: spec.objects('checks').map((check) => checkOf(check, source)),
  };
}

/** MED has room for no more (route-attributes.ts) */
export const HIGHEST_EPOCH = 1_333_333_333;

/** what is no number, or a higher one, was written by somebody else */
export function epochOf(annotations: Labels): number | undefined {
  const text = annotations[EPOCH_ANNOTATION] ?? '';
  const epoch = /^\d{1,15}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
  return epoch <= HIGHEST_EPOCH ? epoch : undefined;
}

function addressOf(metadata: Fields): Address {
  const name = metadata.text('name');
  const address = parseClaimName(name);
  if (address === undefined) {
    const what = `'${name}' is not the address of a claim`;
    const meant = meantClaimName(name);
    const how =
      meant === undefined
        ? ': IPv4 is written 192.0.2.7, IPv6 as eight groups of four lower-case hex digits joined by dashes'
        : `; write the name as ${meant}`;
    throw metadata.refusal('name', `${what}${how}`);
  }
  const why = noHostRoute(address);
  if (why !== undefined) {
    throw metadata.refusal('name', `${name} is ${why}, which no router takes; claim another`);
  }
  return address;
}

export function serviceOf(service: Fields): ClaimService {
  return {
    namespace: service.text('namespace'),
    name: service.text('name'),
    ...optional('uid', service.optionalText('uid')),
    ...optional('healthCheckNodePort', service.optionalNumber('healthCheckNodePort')),
  };
}

function placementOf(placement: Fields): Partial<Placement> {
  return {
    ...optional('mode', placement.optionalWord('mode', PLACEMENT_MODES)),
    ...optional('nodeFilter', placement.optionalWord('nodeFilter', NODE_FILTERS)),
    ...optional('prependStep', placement.optionalNumber('prependStep')),
    ...optional('nodeSelector', placement.selector('nodeSelector')),
  };
}

function checkOf(check: Fields, source: DocumentSource): CheckSpec {
  const ms = (key: string) => Math.round(check.number(key) * 1000);
  return {
    target: targetOf(check, source),
    intervalMs: ms('intervalSeconds'),
    timeoutMs: ms('timeoutSeconds'),
    successes: check.number('successes'),
    failures: check.number('failures'),
    settleMs: ms('settleSeconds'),
  };
}

function targetOf(check: Fields, source: DocumentSource): CheckTarget {
  const http = check.optionalObject('http');
  if (http !== undefined) return httpOf(http, source);
  const tcp = check.optionalObject('tcp');
  if (tcp !== undefined) return { kind: 'tcp', host: tcp.text('host'), port: tcp.number('port') };
  const file = check.optionalObject('file');
  // from the API they would let whoever may write a claim run commands on every node
  if (source === 'api') {
    const key = file === undefined ? 'exec' : 'file';
    throw check.refusal(
      key,
      `${key} checks are legal in documents from files only; use http or tcp`,
    );
  }
  if (file !== undefined) return { kind: 'file', path: file.text('path') };
  const exec = check.object('exec');
  const command = exec.texts('command');
  // no program has this name, and a saved View with such a claim would not be used
  if (command[0] === '') throw exec.refusal('command', 'its first word is empty; write a program');
  return { kind: 'exec', command };
}

function httpOf(http: Fields, source: DocumentSource): CheckTarget {
  const url = http.text('url');
  const parsed = URL.parse(url);
  if (parsed === null || parsed.username !== '' || parsed.password !== '') {
    const how = 'write one such as https://127.0.0.1:6443/readyz, with no user or password in it';
    throw http.refusal('url', `'${url}' is not a URL that can be asked for; ${how}`);
  }
  const caFile = http.optionalText('caFile');
  // from the API it would name a file of every node to whoever may write a claim
  if (source === 'api' && caFile !== undefined) {
    throw http.refusal('caFile', `${CA_FILE_IN_API}; use pinSHA256`);
  }
  const pin = http.optionalText('pinSHA256')?.replaceAll(':', '').toLowerCase();
  return {
    kind: 'http',
    url,
    ...optional('caFile', caFile),
    ...optional('pin', pin),
  };
}
