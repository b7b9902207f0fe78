/** A core/v1 Node as the API gives it → ClusterNode. Never throws. */

import type { ClusterNode, Taint } from '../../model/cluster-node.ts';
import { optional } from '../../model/optional.ts';
import type { KubeObject } from './api.ts';
import { filledText, type Loose, labels, part, parts, text } from './loose-fields.ts';

const OWN_ADDRESSES = ['InternalIP', 'ExternalIP'];

export function convertNode(object: KubeObject): ClusterNode | undefined {
  const { metadata } = object;
  if (typeof metadata.name !== 'string') return undefined;
  const spec = part(object, 'spec');
  const status = part(object, 'status');
  return {
    name: metadata.name,
    uid: metadata.uid,
    labels: labels(metadata, 'labels'),
    taints: parts(spec, 'taints').flatMap(taintOf),
    isUnschedulable: spec['unschedulable'] === true,
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    ready: readyOf(status),
    ...optional('bootId', filledText(part(status, 'nodeInfo'), 'bootID')),
    addresses: parts(status, 'addresses').flatMap(addressOf),
  };
}

function taintOf(taint: Loose): readonly Taint[] {
  const key = filledText(taint, 'key');
  const effect = filledText(taint, 'effect');
  if (key === undefined || effect === undefined) return [];
  return [{ key, effect, ...optional('value', filledText(taint, 'value')) }];
}

function readyOf(status: Loose): ClusterNode['ready'] {
  const condition = parts(status, 'conditions').find((each) => each['type'] === 'Ready');
  const state = condition?.['status'];
  return state === 'True' ? 'true' : state === 'False' ? 'false' : 'unknown';
}

function addressOf(entry: Loose): readonly string[] {
  const address = filledText(entry, 'address');
  return address !== undefined && OWN_ADDRESSES.includes(text(entry, 'type') ?? '')
    ? [address]
    : [];
}
