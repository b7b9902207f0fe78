/**
 * Neighbours that nobody listed: whoever dials from inside a range becomes one, with the range's settings, and stops being one when
 * its session is over. A neighbour of one's own for the same address always goes first; that is seen to by the caller.
 *
 * What a range costs is bounded. One address has one place, a range has `limit` places, and a place is held only while there
 * is a connection; one that is not Established within OPEN_SECONDS gives it back. A neighbour that did what would happen again at
 * once (too many routes, a wrong AS: damping.ts) is remembered without a place, so that its idle hold lasts longer than its connection;
 * of these, too, there are at most `limit`.
 */

import { CeaseSubcode } from '../bgp/codes.ts';
import { isDamped } from '../bgp/damping.ts';
import type { Route } from '../bgp/route.ts';
import type { Timer } from '../io/clock.ts';
import { formatHost } from '../io/endpoint.ts';
import type { Connection, ConnectionHandlers, Endpoint } from '../io/transport.ts';
import {
  type Address,
  addressKey,
  hostPrefix,
  type Prefix,
  prefixContains,
} from '../net/address.ts';
import { eachApart } from './each-apart.ts';
import type { PeerSpeakerEvent } from './events.ts';
import { PeerDriver } from './peer-driver.ts';
import type { PeerWorld } from './peer-world.ts';
import { needsNewSession, type PeerSettings } from './settings.ts';

/** A neighbour's settings without the neighbour: what all that dial from a range have in common. */
export type RangeSettings = Omit<PeerSettings, 'address' | 'zone'>;

export interface DesiredRange {
  /** `name` is the prefix of names: the neighbour 192.0.2.7 is called `<name>/192.0.2.7`. They are passive. */
  readonly settings: RangeSettings;
  /** of ranges that overlap the longest counts */
  readonly range: Prefix;
  /** most neighbours at a time; those that are there stay when it shrinks. Default 100 */
  readonly limit?: number;
  /** everything that each of them should have from us */
  readonly routes: Iterable<Route>;
  /** as of a DesiredPeer */
  readonly isPartial?: boolean;
}

/** An accepted connection, or in a sentence why it is not. */
export type Admission =
  | { readonly ok: true; readonly handlers: ConnectionHandlers }
  | { readonly ok: false; readonly detail?: string };

export const DEFAULT_RANGE_LIMIT = 100;
/** A neighbour that is there sends its OPEN at once; 4 minutes (RFC 4271 §8.2.2) are for those that were configured. */
const OPEN_SECONDS = 20;
const DEFAULT_IDLE_HOLD_MAXIMUM_SECONDS = 60;

interface Member {
  readonly driver: PeerDriver;
  readonly remote: Endpoint;
  range: DesiredRange;
  /** `held-off`: has no place, is remembered for its idle hold */
  phase: 'opening' | 'established' | 'held-off';
  timer: Timer | undefined;
  /** a new connection replaces the old one, whose end is not the neighbour's */
  isReplacing: boolean;
}

export class DynamicPeers {
  readonly #world: PeerWorld;
  readonly #members = new Map<string, Member>();
  readonly #leaving = new Set<Promise<void>>();
  #ranges: readonly DesiredRange[] = [];

  constructor(world: PeerWorld) {
    this.#world = world;
  }

  get ranges(): readonly DesiredRange[] {
    return this.#ranges;
  }

  drivers(): readonly PeerDriver[] {
    return [...this.#members.values()].map(({ driver }) => driver);
  }

  driver(name: string): PeerDriver | undefined {
    for (const { driver } of this.#members.values()) {
      if (driver.settings.name === name) return driver;
    }
    return undefined;
  }

  /** resolves when those that were removed have said goodbye */
  async left(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  /** the range that an address belongs to */
  rangeOf(address: Address): DesiredRange | undefined {
    const host = hostPrefix(address);
    let best: DesiredRange | undefined;
    for (const each of this.#ranges) {
      if (!prefixContains(each.range, host)) continue;
      if (best === undefined || each.range.length > best.range.length) best = each;
    }
    return best;
  }

  /** `isTaken`: this address is a neighbour of its own. `isOutdated`: something else has been wished for in the meantime. */
  apply(
    ranges: readonly DesiredRange[],
    isTaken: (remote: Endpoint) => boolean,
    isOutdated: () => boolean,
  ): void {
    this.#ranges = ranges;
    eachApart([...this.#members.values()], (member) => {
      if (isOutdated()) return;
      const range = isTaken(member.remote) ? undefined : this.rangeOf(member.remote.address);
      this.#applyTo(member, range, isOutdated);
    });
  }

  /** The caller has seen that the address belongs to a range and to no neighbour of its own. */
  accept(connection: Connection, range: DesiredRange): Admission {
    const known = this.#members.get(memberKey(connection.remote));
    if (known !== undefined && !isWaiting(known)) return this.#pass(known, connection);
    const limit = range.limit ?? DEFAULT_RANGE_LIMIT;
    if (this.#count(range, (member) => member.phase !== 'held-off') >= limit) {
      const detail = `${range.settings.name} has ${limit} neighbours, and that is its limit`;
      return { ok: false, detail };
    }
    const member = known ?? this.#add(connection.remote, range);
    this.#setPhase(member, 'opening', OPEN_SECONDS);
    return this.#pass(member, connection);
  }

  /** no timer is left, and nobody is a member any more */
  clear(): void {
    for (const { timer } of this.#members.values()) timer?.cancel();
    this.#members.clear();
  }

  #applyTo(member: Member, range: DesiredRange | undefined, isOutdated: () => boolean): void {
    const { driver, remote } = member;
    if (range === undefined) {
      this.#remove(member, CeaseSubcode.peerDeconfigured);
      return;
    }
    const settings = memberSettings(range, remote);
    const { name: peer } = driver.settings;
    // a name is nothing that the neighbour knows of
    if (needsNewSession(driver.settings, { ...settings, name: peer })) {
      this.#remove(member, CeaseSubcode.otherConfigurationChange);
      return;
    }
    member.range = range;
    driver.setSettings(settings);
    const { name: newName } = settings;
    if (newName !== peer) this.#world.emit({ kind: 'removed', peer, newName });
    if (isOutdated() || member.phase !== 'established') return;
    driver.setRoutes(range.routes, range.isPartial);
  }

  #add(remote: Endpoint, range: DesiredRange): Member {
    const world = {
      ...this.#world,
      emit: (event: PeerSpeakerEvent) => {
        this.#world.emit(event);
        this.#follow(member, event);
      },
    };
    const driver = new PeerDriver(memberSettings(range, remote), world);
    const member: Member = {
      driver,
      remote,
      range,
      phase: 'opening',
      timer: undefined,
      isReplacing: false,
    };
    this.#members.set(memberKey(remote), member);
    driver.start();
    return member;
  }

  #pass(member: Member, connection: Connection): Admission {
    member.isReplacing = true;
    const handlers = member.driver.accept(connection);
    member.isReplacing = false;
    return handlers === undefined ? { ok: false } : { ok: true, handlers };
  }

  #follow(member: Member, event: PeerSpeakerEvent): void {
    if (!this.#isMember(member)) return;
    if (event.kind === 'established') {
      this.#setPhase(member, 'established');
      member.driver.setRoutes(member.range.routes, member.range.isPartial);
    }
    if (event.kind === 'down' && event.wasEstablished) member.driver.setRoutes([]);
    if (event.kind !== 'down' || member.isReplacing || event.reason.kind === 'stopped') return;
    if (isDamped(event.reason)) this.#holdOff(member);
    // what a neighbour that is held off tries meanwhile is turned away, and changes nothing
    else if (member.phase !== 'held-off') this.#remove(member, CeaseSubcode.peerDeconfigured);
  }

  /** Remembered until its longest idle hold is over, and as long again to see whether it has learnt. */
  #holdOff(member: Member): void {
    const { idleHoldMaximumSeconds } = member.driver.settings.timers ?? {};
    const seconds = idleHoldMaximumSeconds ?? DEFAULT_IDLE_HOLD_MAXIMUM_SECONDS;
    this.#setPhase(member, 'held-off', 2 * seconds);
    // in the order in which they were punished
    const key = memberKey(member.remote);
    this.#members.delete(key);
    this.#members.set(key, member);
    const isHeldOff = (each: Member) => each.phase === 'held-off';
    if (this.#count(member.range, isHeldOff) <= (member.range.limit ?? DEFAULT_RANGE_LIMIT)) return;
    for (const each of this.#members.values()) {
      if (!isHeldOff(each) || each.range !== member.range) continue;
      this.#remove(each, CeaseSubcode.peerDeconfigured);
      return;
    }
  }

  #setPhase(member: Member, phase: Member['phase'], seconds?: number): void {
    member.phase = phase;
    member.timer?.cancel();
    if (seconds === undefined) return;
    member.timer = this.#world.clock.startTimer(seconds * 1000, () =>
      this.#remove(member, CeaseSubcode.connectionRejected),
    );
  }

  /** The place is free at once; the goodbye takes the time that it takes. */
  #remove(member: Member, subcode: number): void {
    if (!this.#isMember(member)) return;
    member.timer?.cancel();
    this.#members.delete(memberKey(member.remote));
    const gone = member.driver.stop({ kind: 'cease', subcode });
    this.#leaving.add(gone);
    void gone.then(() => {
      this.#leaving.delete(gone);
      const { name: peer } = member.driver.settings;
      if (!this.#members.has(memberKey(member.remote))) this.#world.emit({ kind: 'removed', peer });
    });
  }

  #isMember(member: Member): boolean {
    return this.#members.get(memberKey(member.remote)) === member;
  }

  #count(range: DesiredRange, counts: (member: Member) => boolean): number {
    let count = 0;
    for (const member of this.#members.values()) {
      if (member.range === range && counts(member)) count += 1;
    }
    return count;
  }
}

/** its idle hold is over: the machine listens again */
function isWaiting({ phase, driver }: Member): boolean {
  return phase === 'held-off' && driver.status().state === 'active';
}

/** fe80::1 on eth0 is another neighbour than fe80::1 on eth1 */
function memberKey({ address, zone }: Endpoint): string {
  return `${addressKey(address)}%${zone ?? ''}`;
}

function memberSettings({ settings }: DesiredRange, remote: Endpoint): PeerSettings {
  const { address, zone } = remote;
  return {
    ...settings,
    name: `${settings.name}/${formatHost(address, zone)}`,
    address,
    ...(zone === undefined ? {} : { zone }),
    passive: true,
  };
}
