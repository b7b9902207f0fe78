/**
 * What `--delete` names: kinds as kubectl takes them, names as they stand. Pure. Deleting what is not there changes nothing, and saying so would reassure the user
 * who has misspelt the name; so an unknown name is refused, with the names there are.
 */

import { parseAddress } from 'bgp-ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { Documents } from '../model/documents.ts';
import { nearest } from '../model/nearest.ts';

type Kind = 'IPPool' | 'BGPPeer' | 'IPClaim';

/** singular, plural and short name of each kind, as deploy/crds has them */
export const KIND_NAMES: Readonly<Record<Kind, readonly string[]>> = {
  IPPool: ['ippool', 'ippools', 'ipp'],
  BGPPeer: ['bgppeer', 'bgppeers', 'bgpp'],
  IPClaim: ['ipclaim', 'ipclaims', 'ipc'],
};
const KINDS: readonly Kind[] = ['IPPool', 'BGPPeer', 'IPClaim'];
const GROUP = /\.(v1alpha1\.)?herald\.dev$/;
/** beyond so many names the rest is counted */
const NAMED = 10;

export type Removal =
  | { readonly ok: true; readonly subject: string }
  | {
      readonly ok: false;
      readonly sentence: string;
      /** it is not KIND/NAME at all */
      readonly isUsage: boolean;
    };

export function removalOf(written: string, documents: Documents): Removal {
  const slash = written.indexOf('/');
  const [kindText, nameText] =
    slash < 0 ? ['', written] : [written.slice(0, slash), written.slice(slash + 1)];
  const kind = kindOf(kindText);
  if (kind === undefined) {
    return {
      ok: false,
      sentence: wrongForm(written, kindText, nameText, documents),
      isUsage: true,
    };
  }
  const names = namesOf(kind, documents);
  const name = kind === 'IPClaim' ? claimName(nameText) : nameText;
  if (names.includes(name)) return { ok: true, subject: `${kind}/${name}` };
  const sentence = `--delete ${written}: there is no ${kind} '${nameText}'; ${whatThereIs(kind, name, names)}`;
  return { ok: false, sentence, isUsage: false };
}

function kindOf(text: string): Kind | undefined {
  const lower = text.toLowerCase().replace(GROUP, '');
  return KINDS.find((kind) => KIND_NAMES[kind].includes(lower));
}

/** an address in any spelling */
function claimName(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatClaimName(address);
}

/** those that cannot be read are there too, and can be deleted */
function namesOf(kind: Kind, { pools, peers, claims, faults }: Documents): readonly string[] {
  const lists = { IPPool: pools, BGPPeer: peers, IPClaim: claims };
  const unread = faults.flatMap(({ subject = '' }) =>
    subject.startsWith(`${kind}/`) ? [subject.slice(kind.length + 1)] : [],
  );
  const names = lists[kind].map(({ object }) => object.name);
  return [...new Set([...names, ...unread])].toSorted();
}

function wrongForm(
  written: string,
  kindText: string,
  nameText: string,
  documents: Documents,
): string {
  const what = `--delete ${written} is not KIND/NAME, with IPPool, BGPPeer or IPClaim as KIND`;
  const kinds = KINDS.filter((kind) =>
    namesOf(kind, documents).includes(kind === 'IPClaim' ? claimName(nameText) : nameText),
  );
  if (kinds.length > 0) {
    return `${what}; did you mean ${kinds.map((kind) => `${kind}/${nameText}`).join(' or ')}?`;
  }
  const meant = kindText === '' ? undefined : nearest(kindText, Object.values(KIND_NAMES).flat());
  const kind = meant === undefined ? undefined : kindOf(meant);
  return kind === undefined ? what : `${what}; did you mean ${kind}/${nameText}?`;
}

function whatThereIs(kind: Kind, name: string, names: readonly string[]): string {
  if (names.length === 0) return `there is no ${kind} at all`;
  const meant = nearest(name, names);
  const guess = meant === undefined ? '' : `did you mean '${meant}'? `;
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `${guess}there ${names.length === 1 ? 'is' : 'are'}: ${names.slice(0, NAMED).join(', ')}${more}`;
}
