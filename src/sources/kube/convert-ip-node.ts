/**
 * An IPNode as the API gives it → IpNode. It was written by an agent of another version perhaps: what does not fit is as if it were not
 * there, since one node's odd report must not stop the controller from reading the rest of it. Never throws.
 */

import { FAMILIES } from 'bgp-ts';
import type {
  IpNode,
  IpNodeLevel,
  IpNodeRefusal,
  IpNodeSession,
  IpNodeStatus,
} from '../../model/ip-node.ts';
import { optional } from '../../model/optional.ts';
import type { KubeObject } from './api.ts';
import { convertConditions } from './convert-condition.ts';
import {
  filledText,
  flag,
  isLoose,
  type Loose,
  part,
  parts,
  text,
  wholeNumber,
  word,
} from './loose-fields.ts';

const STATES = ['Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'] as const;

export function convertIpNode(object: KubeObject): IpNode | undefined {
  const { name, uid, resourceVersion } = object.metadata;
  if (typeof name !== 'string') return undefined;
  return { name, uid, resourceVersion, status: statusOf(part(object, 'status')) };
}

function statusOf(status: Loose): IpNodeStatus {
  return {
    ...optional('joined', joinedOf(status['joined'])),
    ...optional('draining', drainingOf(status['draining'])),
    ...optional('ignoresExcludeLabel', flag(status, 'ignoresExcludeLabel')),
    ...optional('sessions', listOf(status, 'sessions', sessionOf)),
    ...optional('routes', wholeNumber(status, 'routes')),
    ...optional('refused', listOf(status, 'refused', refusalOf)),
    ...optional('refusedMore', wholeNumber(status, 'refusedMore')),
    ...optional('levels', listOf(status, 'levels', levelOf)),
    ...optional('observedClaims', filledText(status, 'observedClaims')),
    ...optional(
      'conditions',
      isPresent(status, 'conditions') ? convertConditions(status) : undefined,
    ),
  };
}

function listOf<T>(
  of: Loose,
  key: string,
  convert: (entry: Loose) => T | undefined,
): readonly T[] | undefined {
  if (!isPresent(of, key)) return undefined;
  return parts(of, key)
    .map(convert)
    .filter((entry) => entry !== undefined);
}

function isPresent(of: Loose, key: string): boolean {
  return of[key] !== undefined;
}

function joinedOf(joined: unknown): IpNodeStatus['joined'] | undefined {
  if (!isLoose(joined)) return undefined;
  const open = flag(joined, 'open');
  if (open === undefined) return undefined;
  return {
    open,
    reason: text(joined, 'reason') ?? '',
    message: text(joined, 'message') ?? '',
    since: text(joined, 'since') ?? '',
  };
}

/** that it is there is what counts */
function drainingOf(draining: unknown): IpNodeStatus['draining'] | undefined {
  if (!isLoose(draining)) return undefined;
  return { reason: text(draining, 'reason') ?? '', since: text(draining, 'since') ?? '' };
}

function sessionOf(entry: Loose): IpNodeSession | undefined {
  const peer = text(entry, 'peer');
  const address = text(entry, 'address');
  const state = word(entry, 'state', STATES);
  if (peer === undefined || address === undefined || state === undefined) return undefined;
  return {
    peer,
    address,
    state,
    ...optional('since', filledText(entry, 'since')),
    ...optional('routesSent', wholeNumber(entry, 'routesSent')),
    ...optional('routesReceived', wholeNumber(entry, 'routesReceived')),
    ...optional('lastError', filledText(entry, 'lastError')),
    ...optional('holdSeconds', wholeNumber(entry, 'holdSeconds')),
    ...optional('restartSeconds', wholeNumber(entry, 'restartSeconds')),
    ...optional('keptSeconds', wholeNumber(entry, 'keptSeconds')),
    ...optional('cannotCarry', listOf(entry, 'cannotCarry', uncarriedOf)),
  };
}

function uncarriedOf(entry: Loose) {
  const family = word(entry, 'family', FAMILIES);
  return family && { family, message: text(entry, 'message') ?? '' };
}

function refusalOf(entry: Loose): IpNodeRefusal | undefined {
  const address = text(entry, 'address');
  if (address === undefined) return undefined;
  return { address, gate: text(entry, 'gate') ?? '', message: text(entry, 'message') ?? '' };
}

function levelOf(entry: Loose): IpNodeLevel | undefined {
  const address = text(entry, 'address');
  const level = entry['level'];
  if (address === undefined || (level !== 0 && level !== 1 && level !== 2)) return undefined;
  return { address, level };
}
