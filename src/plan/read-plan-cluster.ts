/** Reads what a plan needs of a cluster: all of our own documents, and every node that has an agent. */

import { CannotLook, listOther, listOwn } from '../cluster-view/asking.ts';
import type { DocumentFault, Documents, Sourced } from '../model/documents.ts';
import type { Converted } from '../model/refusal.ts';
import type { KubeApi, KubeObject } from '../sources/kube/api.ts';
import { convertConditions } from '../sources/kube/convert-condition.ts';
import {
  convertClaimObject,
  convertPeerObject,
  convertPoolObject,
} from '../sources/kube/convert-documents.ts';
import { convertIpNode } from '../sources/kube/convert-ip-node.ts';
import { convertNode } from '../sources/kube/convert-node.ts';
import { part } from '../sources/kube/loose-fields.ts';
import { BGP_PEERS, IP_CLAIMS, IP_NODES, IP_POOLS, NODES } from '../sources/kube/resources.ts';
import type { PlanNode } from './plan-view.ts';

export async function readPlanCluster(api: KubeApi): Promise<{
  readonly documents: Documents;
  readonly nodes: readonly PlanNode[];
  /** `IPPool/b`: not in force beside another one */
  readonly refusedNow: ReadonlySet<string>;
}> {
  const [pools, peers, claims, ipNodes, nodes] = await Promise.all([
    listOwn(api, IP_POOLS),
    listOwn(api, BGP_PEERS),
    listOwn(api, IP_CLAIMS),
    listOwn(api, IP_NODES),
    listOther(api, NODES),
  ]);
  // selectors go by the labels of Nodes: without them there is nothing to say
  if (!nodes.ok) throw new CannotLook(`${nodes.note}, and a plan needs their labels`);
  const known = new Map(nodes.value.map((object) => [object.metadata.name, convertNode(object)]));
  return {
    documents: {
      pools: sourced(pools, convertPoolObject),
      peers: sourced(peers, convertPeerObject),
      claims: sourced(claims, convertClaimObject),
      faults: [
        ...faults('IPPool', pools, convertPoolObject),
        ...faults('BGPPeer', peers, convertPeerObject),
        ...faults('IPClaim', claims, convertClaimObject),
      ],
    },
    refusedNow: new Set(pools.filter(isRefused).map(({ metadata }) => `IPPool/${metadata.name}`)),
    nodes: ipNodes.flatMap((object): readonly PlanNode[] => {
      const node = known.get(object.metadata.name);
      const ipNode = convertIpNode(object);
      if (node === undefined || ipNode === undefined) return [];
      return [{ name: node.name, labels: node.labels, cluster: { node, status: ipNode.status } }];
    }),
  };
}

function faults(
  kind: string,
  objects: readonly KubeObject[],
  convert: (object: KubeObject) => Converted<unknown>,
): readonly DocumentFault[] {
  return objects.flatMap((object): readonly DocumentFault[] => {
    const made = convert(object);
    if (made.ok) return [];
    const subject = `${kind}/${object.metadata.name}`;
    return [{ file: 'API', subject, sentence: made.sentence, keepsLastGood: false }];
  });
}

function isRefused(object: KubeObject): boolean {
  const { generation } = object.metadata;
  return convertConditions(part(object, 'status')).some(
    ({ type, status, observedGeneration }) =>
      type === 'Ready' && status === 'False' && observedGeneration === generation,
  );
}

function sourced<T>(
  objects: readonly KubeObject[],
  convert: (object: KubeObject) => Converted<T>,
): readonly Sourced<T>[] {
  return objects.flatMap((object): readonly Sourced<T>[] => {
    const made = convert(object);
    if (!made.ok) return [];
    const { name, creationTimestamp } = object.metadata;
    const createdMs = Date.parse(creationTimestamp ?? '') || 0;
    return [{ object: made.object, origin: `API:${name}`, createdMs, source: 'api' }];
  });
}
