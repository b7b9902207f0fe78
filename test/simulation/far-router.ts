/**
 * The router on the far side: a real Speaker that keeps what its neighbours announce. What it holds is what every invariant is
 * judged by; nothing of the agents' own word counts. It is restarted by losing its process: sockets reset, table gone.
 */

import {
  type Address,
  formatAddress,
  formatPrefix,
  type Listener,
  type MemoryNetwork,
  type PathAttributes,
  type Prefix,
  parsePrefix,
  prefixAddress,
  type Random,
  Speaker,
  type SpeakerEvent,
  type Transport,
  type UpdateMessage,
  WellKnownCommunity,
} from 'bgp-ts';
import { formatClaimName } from '../../src/model/claim-name.ts';
import { ProcessClock, type SimulationClock } from './simulation-clock.ts';

export type Form = 'plain' | 'draining' | 'none';

/** One path as it came over the wire. */
export interface HeldPath {
  readonly form: Form;
  readonly pathLength: number;
  readonly localPref: number | undefined;
}

export interface FarRouterOptions {
  readonly name: string;
  readonly asn: number;
  readonly address: Address;
  readonly password?: string;
  readonly clock: SimulationClock;
  readonly random: Random;
  readonly network: MemoryNetwork;
  readonly neighbours: readonly Address[];
}

/** what is told about one neighbour, by its address as text */
export interface FarRouterEvents {
  onPath(neighbour: string, claim: string, path: HeldPath | undefined): void;
  onUp(neighbour: string): void;
  onDown(neighbour: string): void;
}

const RANGE = 'range';

export class FarRouter {
  readonly options: FarRouterOptions;
  readonly #events: FarRouterEvents;
  readonly #transport: Transport;
  #listeners: Listener[] = [];
  #clock: ProcessClock | undefined;
  #speaker: Speaker | undefined;
  /** by neighbour, then by claim name */
  readonly table = new Map<string, Map<string, HeldPath>>();

  constructor(options: FarRouterOptions, events: FarRouterEvents) {
    this.options = options;
    this.#events = events;
    this.#transport = options.network.host(options.address);
  }

  get isUp(): boolean {
    return this.#speaker !== undefined;
  }

  start(): void {
    if (this.#speaker !== undefined) return;
    const { clock, random, asn, address, password } = this.options;
    this.#clock = new ProcessClock(clock, () => 0);
    const speaker = new Speaker({
      clock: this.#clock,
      random,
      transport: this.#catching(),
      interfaceAddresses: () => undefined,
      listen: { port: 179, address },
    });
    this.#speaker = speaker;
    speaker.subscribe((event) => {
      if (this.#speaker === speaker) this.#onEvent(event);
    });
    const range = parsePrefix('192.0.2.0/24');
    if (range === undefined) throw new Error('no prefix');
    void speaker.start().then(() => {
      if (this.#speaker !== speaker) return;
      const settings = {
        name: RANGE,
        localAsn: asn,
        peerAsn: 'any',
        routerId: address.family === 'ipv4' ? address.bits >>> 0 : 1,
        timers: { holdSeconds: 3, keepaliveSeconds: 1 },
        inbound: { kind: 'keep' },
        ...(password === undefined ? {} : { password }),
      } as const;
      speaker.apply({ peers: [], ranges: [{ settings, range, routes: [] }] });
    });
  }

  /** the process is gone: the kernel resets its connections, and nobody listens */
  crash(): void {
    const { network, address, neighbours } = this.options;
    this.#speaker = undefined;
    this.#clock?.kill();
    for (const listener of this.#listeners) void listener.close();
    this.#listeners = [];
    for (const neighbour of neighbours) network.resetConnections(neighbour, address);
    for (const neighbour of [...this.table.keys()]) this.#down(neighbour);
  }

  path(neighbour: string, claim: string): HeldPath | undefined {
    return this.table.get(neighbour)?.get(claim);
  }

  /** The table that was put together of UPDATEs must be the one that the speaker itself holds. */
  disagreement(): string | undefined {
    for (const [neighbour, held] of this.table) {
      const own = (this.#speaker?.receivedRoutes(`${RANGE}/${neighbour}`) ?? [])
        .map(({ prefix }) => claimOf(prefix))
        .toSorted();
      const ours = [...held.keys()].toSorted();
      if (own.join() !== ours.join()) return `${neighbour}: ${own.join()} against ${ours.join()}`;
    }
    return undefined;
  }

  #catching(): Transport {
    const transport = this.#transport;
    return {
      dial: (options, handlers) => transport.dial(options, handlers),
      listen: async (options, onAccept) => {
        const listener = await transport.listen(options, onAccept);
        this.#listeners.push(listener);
        return listener;
      },
    };
  }

  #onEvent(event: SpeakerEvent): void {
    switch (event.kind) {
      case 'established': {
        const neighbour = formatAddress(event.remote.address);
        this.table.set(neighbour, new Map());
        this.#events.onUp(neighbour);
        break;
      }
      case 'down':
        if (event.wasEstablished) this.#down(event.peer.slice(RANGE.length + 1));
        break;
      case 'update-received':
        this.#update(event.peer.slice(RANGE.length + 1), event.update);
        break;
      default:
        break;
    }
  }

  #down(neighbour: string): void {
    if (this.table.delete(neighbour)) this.#events.onDown(neighbour);
  }

  #update(neighbour: string, { withdrawn, nlri, attributes }: UpdateMessage): void {
    const { mpReach, mpUnreach } = attributes;
    const gone = mpUnreach?.kind === 'prefixes' ? mpUnreach.withdrawn : [];
    for (const prefix of [...withdrawn, ...gone]) this.#set(neighbour, prefix, undefined);
    const reached = mpReach?.kind === 'prefixes' ? mpReach.nlri : [];
    const path = pathOf(attributes);
    for (const prefix of [...nlri, ...reached]) this.#set(neighbour, prefix, path);
  }

  #set(neighbour: string, prefix: Prefix, path: HeldPath | undefined): void {
    if (formatPrefix(prefix).split('/')[1] !== (prefix.family === 'ipv4' ? '32' : '128')) {
      throw new Error(`not a host route: ${formatPrefix(prefix)}`);
    }
    const claim = claimOf(prefix);
    const held = this.table.get(neighbour);
    if (path === undefined) held?.delete(claim);
    else held?.set(claim, path);
    this.#events.onPath(neighbour, claim, path);
  }
}

function claimOf(prefix: Prefix): string {
  return formatClaimName(prefixAddress(prefix));
}

function pathOf({ communities, asPath, localPref }: PathAttributes): HeldPath {
  const isDraining = communities?.includes(WellKnownCommunity['graceful-shutdown']) === true;
  return {
    form: isDraining ? 'draining' : 'plain',
    pathLength: (asPath ?? []).reduce((sum, { asns }) => sum + asns.length, 0),
    localPref,
  };
}
