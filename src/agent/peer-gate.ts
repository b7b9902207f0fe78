/** The peer's half of the gate `allowed`: the right family, an advertisement that selects it, room left. Pure. */

import type { BgpPeer } from '../model/bgp-peer.ts';
import type { Advertisement } from '../model/ip-pool.ts';
import { selects } from '../model/labels.ts';
import type { Form } from './aggregates.ts';
import type { ClaimSubject } from './claim-gates.ts';
import type { Gate } from './gate.ts';
import type { View } from './view.ts';

export interface PeerGate {
  readonly allowed: Gate;
  readonly advertisement?: Advertisement;
}

export function peerGate(subject: ClaimSubject, peer: BgpPeer, view: View): PeerGate {
  const { claim, pool, departure } = subject;
  const { family } = claim.object.address;
  if (!peer.families.includes(family)) {
    const remedy = `add ${family} to the families of BGPPeer ${peer.name}`;
    return { allowed: closed(`${peer.name} carries no ${family} routes`, remedy) };
  }
  const { held } = departure ?? {};
  const open = held === undefined ? OPEN : HELD;
  const advertisements = held ?? pool?.advertisements ?? [];
  if (pool === undefined || advertisements.length === 0) return { allowed: open };
  const advertisement = advertisements.find(
    ({ peerSelector, nodeSelector }) =>
      selects(peerSelector, peer.labels) &&
      (held !== undefined || selects(nodeSelector, view.node.labels)),
  );
  if (advertisement !== undefined) return { allowed: open, advertisement };
  const sentence = `no advertisement of pool ${pool.name} selects peer ${peer.name} on this node`;
  const remedy = `add an advertisement to IPPool ${pool.name}, or change its selectors`;
  return { allowed: closed(sentence, remedy) };
}

const OPEN: Gate = {
  name: 'allowed',
  state: 'open',
  sentence: 'a pool holds it, and an advertisement selects this peer and node',
};

const HELD: Gate = {
  name: 'allowed',
  state: 'open',
  sentence: 'no advertisement selects this node any more; it stays as it was announced last',
};

export function full({ name, maxRoutes }: BgpPeer): Gate {
  const sentence = `${name} takes at most ${maxRoutes} routes (maxRoutes), and claims that are older, or announced already, have them all`;
  const remedy = `raise maxRoutes of BGPPeer ${name}, and the router's own prefix limit with it`;
  return { ...closed(sentence, remedy), isLimit: true };
}

export function closed(sentence: string, remedy?: string): Gate {
  return {
    name: 'allowed',
    state: 'closed',
    sentence,
    ...(remedy === undefined ? {} : { remedy }),
  };
}

/** the gate is open either way; people read what goes out */
export function told(allowed: Gate, { sentence }: Form): Gate {
  if (sentence === undefined) return allowed;
  return { ...allowed, sentence: `${allowed.sentence}; ${sentence}` };
}
