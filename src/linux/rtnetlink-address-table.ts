/**
 * The addresses in the kernel, by rtnetlink. See address-table.ts for what is promised; this is how.
 *
 * Before an address is added, all addresses are looked at: the kernel itself would let 192.0.2.1/32 stand beside somebody's
 * 192.0.2.1/24, and the same address on two interfaces. To add a thousand does not mean a thousand lists: one is kept for as long
 * as this turn of the event loop lasts, and follows our own changes. What somebody else does at that very moment is met by
 * the kernel's EEXIST, and then a fresh list says whose it is.
 */

import { release } from 'node:os';
import { type Address, addressKey, formatAddress } from 'bgp-ts';
import {
  type AddressBody,
  AddressFlag,
  AddressMessageType,
  decodeAddressBody,
  encodeAddressBody,
  encodeAddressList,
} from './address-message.ts';
import {
  ADDRESS_PROTOCOL,
  type AddressTable,
  hostLength,
  type KernelAddress,
  labelFor,
  type Outcome,
} from './address-table.ts';
import { decodeLinkBody, encodeLinkList, type Link, LinkMessageType } from './link-message.ts';
import { NetlinkError } from './netlink-calls.ts';
import { MessageFlag } from './netlink-message.ts';
import { MonitorGroup, NetlinkMonitor } from './netlink-monitor.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import { OwnedAddresses } from './owned-addresses.ts';
import { foreignToAdd, foreignToRemove, noInterface, refusedBy, unwritten } from './refusal.ts';

export interface RtnetlinkAddressTableOptions {
  /** Remembers what is ours on kernels before 5.18; without it an IPv6 address left by a crash is not recognised there. */
  readonly ownedFile?: string;
  /** of `ownedFile`: the code of what keeps it from being written, and undefined when that is over; never within a call */
  readonly onOwnedTrouble?: (code: string | undefined) => void;
  /** Whether addresses can carry a protocol; asked of the kernel's version unless said. */
  readonly hasProtocol?: boolean;
  /** how long a list is asked for again that changed while it was read; see netlink-socket.ts */
  readonly persistMs?: number;
}

/** One moment: addresses by key, interfaces by name. */
interface Snapshot {
  readonly addresses: Map<string, KernelAddress[]>;
  readonly links: ReadonlyMap<string, Link>;
}

/**
 * Deprecated: the address is served by other machines too, and the answers to what this one sent from it would go to one of them.
 * IPv4 has no such mark; there the kernel takes the oldest address of the interface.
 */
const IPV6_FLAGS = AddressFlag.noDuplicateDetection | AddressFlag.deprecated;

const GROUPS = MonitorGroup.links | MonitorGroup.ipv4Addresses | MonitorGroup.ipv6Addresses;

export class RtnetlinkAddressTable implements AddressTable {
  readonly #netlink: NetlinkSocket;
  readonly #monitors = new Set<NetlinkMonitor>();
  readonly #hasProtocol: boolean;
  readonly #owned: OwnedAddresses | undefined;
  readonly #listeners = new Set<() => void>();
  #snapshot: Snapshot | undefined;

  constructor(options: RtnetlinkAddressTableOptions = {}) {
    this.#netlink = new NetlinkSocket({ persistMs: options.persistMs });
    this.#hasProtocol = options.hasProtocol ?? kernelHasAddressProtocol(release());
    const tell = () => {
      for (const listener of this.#listeners) listener();
    };
    this.#owned = this.#hasProtocol ? undefined : ownedIn(options, tell);
  }

  links(): readonly Link[] {
    const links: Link[] = [];
    for (const { body } of this.#netlink.list(LinkMessageType.get, encodeLinkList())) {
      const link = decodeLinkBody(body);
      if (link !== undefined) links.push(link);
    }
    return links;
  }

  list(): readonly KernelAddress[] {
    return [...this.#look().addresses.values()].flat();
  }

  add(address: Address, interfaceName: string): Outcome {
    const doing = `cannot add ${formatAddress(address)} to ${interfaceName}`;
    try {
      const snapshot = this.#snapshot ?? this.#look();
      const link = snapshot.links.get(interfaceName);
      if (link === undefined) return noInterface(doing, interfaceName);
      const present = whatIsThere(snapshot, address, link);
      return present ?? this.#put(address, link);
    } catch (error) {
      this.#snapshot = undefined;
      return refusedBy(error, { doing, interface: interfaceName, family: address.family });
    }
  }

  remove(address: Address, interfaceName: string): Outcome {
    const doing = `cannot remove ${formatAddress(address)} from ${interfaceName}`;
    try {
      const snapshot = this.#snapshot ?? this.#look();
      const here = on(snapshot, address).filter((each) => each.interface === interfaceName);
      const ours = here.find((each) => each.ours);
      if (ours !== undefined) return this.#take(ours);
      const [foreign] = here;
      if (foreign !== undefined) return foreignToRemove(foreign);
      this.#owned?.remove(address, interfaceName);
      return { kind: 'done', changed: false };
    } catch (error) {
      this.#snapshot = undefined;
      return refusedBy(error, { doing, interface: interfaceName, family: address.family });
    }
  }

  subscribe(onChange: () => void): () => void {
    const monitor = new NetlinkMonitor({ groups: GROUPS, onChange });
    monitor.start();
    this.#monitors.add(monitor);
    this.#listeners.add(onChange);
    return () => {
      this.#listeners.delete(onChange);
      monitor.stop();
      this.#monitors.delete(monitor);
    };
  }

  close(): void {
    for (const monitor of this.#monitors) monitor.stop();
    this.#monitors.clear();
    this.#listeners.clear();
    this.#netlink.close();
    this.#snapshot = undefined;
  }

  #put(address: Address, link: Link): Outcome {
    const body = this.#bodyFor(address, link);
    // who has a label needs no line
    const owned = body.label === undefined ? this.#owned : undefined;
    if (owned?.intend(address, link.name) === false) return unwritten(address, link.name);
    const flags = MessageFlag.create | MessageFlag.exclusive;
    try {
      this.#netlink.change({
        type: AddressMessageType.add,
        flags,
        body: encodeAddressBody(body),
      });
    } catch (error) {
      owned?.remove(address, link.name);
      if (!(error instanceof NetlinkError && error.code === 'EEXIST')) throw error;
      const present = whatIsThere(this.#look(), address, link);
      if (present === undefined) throw error;
      return present;
    }
    owned?.add(address, link.name);
    if (this.#snapshot !== undefined) {
      const added = this.#kernelAddress(body, link.name);
      this.#snapshot.addresses.set(addressKey(address), [...on(this.#snapshot, address), added]);
    }
    return { kind: 'done', changed: true };
  }

  #bodyFor(address: Address, link: Link): AddressBody {
    const label = address.family === 'ipv4' ? labelFor(link.name) : undefined;
    return {
      address,
      prefixLength: hostLength(address),
      index: link.index,
      flags: address.family === 'ipv6' ? IPV6_FLAGS : 0,
      ...(label === undefined ? {} : { label }),
      ...(this.#hasProtocol ? { protocol: ADDRESS_PROTOCOL } : {}),
    };
  }

  #take(ours: KernelAddress): Outcome {
    const { address, prefixLength, index } = ours;
    const body = encodeAddressBody({ address, prefixLength, index, flags: 0 });
    let changed = true;
    try {
      this.#netlink.change({ type: AddressMessageType.remove, flags: 0, body });
    } catch (error) {
      // Somebody was faster, or the interface has gone and the address with it
      const isGone =
        error instanceof NetlinkError && ['EADDRNOTAVAIL', 'ENODEV'].includes(error.code);
      if (!isGone) throw error;
      changed = false;
    }
    this.#owned?.remove(address, ours.interface);
    if (this.#snapshot !== undefined) {
      const rest = on(this.#snapshot, address).filter((each) => each !== ours);
      this.#snapshot.addresses.set(addressKey(address), rest);
    }
    return { kind: 'done', changed };
  }

  #look(): Snapshot {
    // Interfaces last: one that appears in between is known by name, an address whose interface has gone is gone too.
    const bodies = this.#netlink.list(AddressMessageType.get, encodeAddressList());
    const links = this.links();
    const names = new Map(links.map(({ index, name }) => [index, name]));
    const addresses = new Map<string, KernelAddress[]>();
    for (const { body } of bodies) {
      const decoded = decodeAddressBody(body);
      const name = decoded === undefined ? undefined : names.get(decoded.index);
      if (decoded === undefined || name === undefined) continue;
      const key = addressKey(decoded.address);
      const known = addresses.get(key);
      const address = this.#kernelAddress(decoded, name);
      if (known === undefined) addresses.set(key, [address]);
      else known.push(address);
    }
    const snapshot = { addresses, links: new Map(links.map((link) => [link.name, link])) };
    this.#keepForThisTurn(snapshot);
    return snapshot;
  }

  #keepForThisTurn(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    setImmediate(() => {
      if (this.#snapshot === snapshot) this.#snapshot = undefined;
    }).unref();
  }

  #kernelAddress(body: AddressBody, name: string): KernelAddress {
    const { address, prefixLength, label, protocol } = body;
    const isMarked =
      protocol === ADDRESS_PROTOCOL || (label !== undefined && label === labelFor(name));
    const isHost = prefixLength === hostLength(address);
    return {
      ...body,
      interface: name,
      ours: isHost && (isMarked || this.#owned?.has(address, name) === true),
    };
  }
}

const on = (snapshot: Snapshot, address: Address) =>
  snapshot.addresses.get(addressKey(address)) ?? [];

/** undefined when the address may be added */
function whatIsThere(snapshot: Snapshot, address: Address, link: Link): Outcome | undefined {
  const present = on(snapshot, address);
  const foreign = present.find((each) => !each.ours);
  if (foreign !== undefined) return foreignToAdd(foreign, link.name);
  const isThere = present.some((each) => each.index === link.index);
  return isThere ? { kind: 'done', changed: false } : undefined;
}

/** undefined: no file is named */
function ownedIn(
  { ownedFile, onOwnedTrouble }: RtnetlinkAddressTableOptions,
  onChange: () => void,
): OwnedAddresses | undefined {
  if (ownedFile === undefined) return undefined;
  let told: string | undefined;
  const owned = new OwnedAddresses(ownedFile, {
    onChange: () => {
      const { trouble } = owned;
      if (trouble !== told) onOwnedTrouble?.(trouble);
      told = trouble;
      onChange();
    },
  });
  return owned;
}

/** IFA_PROTO came with Linux 5.18; older kernels ignore it without a word. */
export function kernelHasAddressProtocol(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.').map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 18);
}
