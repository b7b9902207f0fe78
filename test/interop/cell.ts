/**
 * One cell of the interop table: a router and our subject in namespaces of their own, a capture of what passes
 * between them, and the questions that most rows ask. A cell is built fresh and thrown away, so that no row can
 * depend on another and many can run side by side.
 *
 *   direct   ours 10.0.0.1, fd00::1 — theirs 10.0.0.2, fd00::2
 *   routed   ours 10.0.1.1 — a router between them — theirs 10.0.2.2
 */

import { type Capture, startCapture } from '../support/capture.ts';
import { createLab, type Host, type Lab, type Link } from '../support/netns.ts';
import { type PollOptions, untilValue } from '../support/poll.ts';
import { createRouter } from './routers/create.ts';
import type {
  Family,
  Neighbour,
  Route,
  Router,
  RouterConfig,
  RouterKind,
} from './routers/router.ts';
import { Subject } from './subject-client.ts';
import type { SubjectPeer, SubjectStart } from './subject-protocol.ts';

export type Topology = 'direct' | 'routed';

/** What tshark made of the messages that we sent in one cell. */
export type Inspection = { readonly messages: number; readonly complaints: readonly string[] };

export const ourAsn = 65_001;
export const theirAsn = 65_002;
/** What most sessions here agree on: longer than any process waits for a processor while ten cells share two. */
const quietHoldSeconds = 30;

const addresses = {
  direct: { ours: '10.0.0.1', theirs: '10.0.0.2' },
  routed: { ours: '10.0.1.1', theirs: '10.0.2.2' },
} as const;
export const ours6 = 'fd00::1';
export const theirs6 = 'fd00::2';

/** Routers are asked by starting a program each time; more often than this would only heat the machine. */
const askEveryMs = 200;
const patienceMs = 60_000;

export class Cell {
  readonly kind: RouterKind;
  readonly router: Router;
  readonly lab: Lab;
  readonly topology: Topology;
  readonly #subjects: Subject[] = [];
  #parts: { ours: Host; theirs: Host; link: Link; capture: Capture } | undefined;

  constructor(kind: RouterKind, topology: Topology) {
    this.kind = kind;
    this.topology = topology;
    this.router = createRouter(kind);
    this.lab = createLab(kind);
  }

  async build(): Promise<void> {
    const ours = await this.lab.host('ours', { forward: false });
    const theirs = await this.lab.host('theirs', { forward: false });
    const link = this.topology === 'direct' ? await this.#join(ours, theirs) : undefined;
    const last = link ?? (await this.#routeBetween(ours, theirs));
    const capture = await startCapture(theirs, last.b.name);
    this.#parts = { ours, theirs, link: last, capture };
  }

  #join(ours: Host, theirs: Host): Promise<Link> {
    const { direct } = addresses;
    return this.lab.link(ours, theirs, {
      a: [`${direct.ours}/24`, `${ours6}/64`],
      b: [`${direct.theirs}/24`, `${theirs6}/64`],
    });
  }

  /** The link of the far end; packets between ours and theirs lose one hop on the way. */
  async #routeBetween(ours: Host, theirs: Host): Promise<Link> {
    const middle = await this.lab.host('middle', { forward: true });
    const { routed } = addresses;
    await this.lab.link(ours, middle, { a: [`${routed.ours}/24`], b: ['10.0.1.254/24'] });
    const last = await this.lab.link(middle, theirs, {
      a: ['10.0.2.254/24'],
      b: [`${routed.theirs}/24`],
    });
    await ours.ip('route add 10.0.2.0/24 via 10.0.1.254');
    await theirs.ip('route add 10.0.1.0/24 via 10.0.2.254');
    return last;
  }

  get #built() {
    if (this.#parts === undefined) throw new Error('the cell is not built');
    return this.#parts;
  }

  get ours(): Host {
    return this.#built.ours;
  }

  get theirs(): Host {
    return this.#built.theirs;
  }

  get link(): Link {
    return this.#built.link;
  }

  get capture(): Capture {
    return this.#built.capture;
  }

  get ourAddress(): string {
    return addresses[this.topology].ours;
  }

  get theirAddress(): string {
    return addresses[this.topology].theirs;
  }

  /** Our settings for the router; it is dialled, since the router waits unless a row says otherwise. */
  peer(overrides: Partial<SubjectPeer> = {}): SubjectPeer {
    return {
      address: this.theirAddress,
      localAsn: ourAsn,
      peerAsn: theirAsn,
      routerId: '10.0.0.1',
      timers: { holdSeconds: quietHoldSeconds, connectRetrySeconds: 1 },
      routes: [],
      ...overrides,
    };
  }

  /** The router's settings for us. */
  neighbour(overrides: Partial<Neighbour> = {}): Neighbour {
    return {
      address: this.ourAddress,
      localAddress: this.theirAddress,
      asn: ourAsn,
      families: ['ipv4', 'ipv6'],
      isPassive: true,
      holdTimeSeconds: quietHoldSeconds,
      ...overrides,
    };
  }

  config(neighbour: Neighbour, overrides: Partial<RouterConfig> = {}): RouterConfig {
    return { localAsn: theirAsn, routerId: '10.0.0.2', neighbours: [neighbour], ...overrides };
  }

  async startRouter(
    neighbour: Partial<Neighbour> = {},
    config: Partial<RouterConfig> = {},
  ): Promise<void> {
    await this.router.start(this.theirs, this.config(this.neighbour(neighbour), config));
  }

  async startSubject(options: SubjectStart = {}): Promise<Subject> {
    const subject = new Subject(this.ours);
    // before it answers: one that never does is to be ended with the cell all the same
    this.#subjects.push(subject);
    await subject.start(options);
    return subject;
  }

  /** The plain case: the router waits, we dial and announce. */
  async connect(
    peer: Partial<SubjectPeer>,
    neighbour: Partial<Neighbour> = {},
    config: Partial<RouterConfig> = {},
  ): Promise<Subject> {
    const [subject] = await Promise.all([this.startSubject(), this.startRouter(neighbour, config)]);
    await subject.apply(this.peer(peer));
    await this.established(subject);
    return subject;
  }

  /** Both ends say Established. */
  async established(subject: Subject, options: PollOptions = {}): Promise<void> {
    await untilValue(
      'our session is established',
      () => subject.status(),
      (peers) => peers.length === 1 && peers[0]?.state === 'established',
      { timeoutMs: patienceMs, everyMs: 100, ...options },
    );
    await untilValue(
      `${this.kind} shows the session as established`,
      () => this.router.sessions(),
      (sessions) => sessions.length === 1 && sessions[0]?.state === 'established',
      { timeoutMs: patienceMs, everyMs: askEveryMs, ...options },
    );
  }

  /** The router's table once it holds exactly these prefixes. */
  async table(
    family: Family,
    prefixes: readonly string[],
    options: PollOptions = {},
  ): Promise<readonly Route[]> {
    const wanted = prefixes.toSorted().join(' ');
    return await untilValue(
      `the ${family} table of ${this.kind} holds [${wanted}]`,
      () => this.router.routes(family),
      (routes) =>
        routes
          .map((route) => route.prefix)
          .toSorted()
          .join(' ') === wanted,
      { timeoutMs: patienceMs, everyMs: askEveryMs, ...options },
    );
  }

  async route(family: Family, prefix: string): Promise<Route> {
    const [route] = await this.table(family, [prefix]);
    if (route === undefined) throw new Error(`no ${prefix}`);
    return route;
  }

  /** As a display filter: what we sent. */
  get fromUs(): string {
    return `(ip.src == ${this.ourAddress} || ipv6.src == ${ours6})`;
  }

  get fromThem(): string {
    return `(ip.src == ${this.theirAddress} || ipv6.src == ${theirs6})`;
  }

  /** Reads all that we sent and notes what tshark calls malformed or wrong. */
  async inspect(): Promise<Inspection> {
    const { capture } = this.#built;
    await capture.stop();
    return inspectCapture(capture, this.fromUs);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.#subjects.map((subject) => subject.kill()));
    await this.lab.destroy();
  }
}

/** What tshark finds broken: the expert groups Malformed (7) and Protocol (9), which it writes as numbers in the high byte. */
const badGroups = [0x07000000, 0x09000000];
export const complaintFilter = [
  '_ws.malformed',
  ...badGroups.map((group) => `_ws.expert.group == 0x0${group.toString(16)}`),
].join(' || ');
const complaintFields = [
  'bgp.type',
  '_ws.malformed',
  '_ws.expert.group',
  '_ws.expert.message',
] as const;

/** One reading for both questions: how much was sent, and what of it `complaintFilter` would show. */
export async function inspectCapture(capture: Capture, sentBy: string): Promise<Inspection> {
  const frames = await capture.frames(`bgp && ${sentBy}`, complaintFields);
  const complaints = frames.flatMap((frame) => {
    const groups = frame['_ws.expert.group'].split(',').map(Number);
    const isBad = frame['_ws.malformed'] !== '' || groups.some((each) => badGroups.includes(each));
    return isBad ? [`${frame['_ws.malformed']} ${frame['_ws.expert.message']}`.trim()] : [];
  });
  const messages = frames.reduce((sum, frame) => sum + countOf(frame['bgp.type']), 0);
  return { messages, complaints };
}

/** Several messages in one segment are one frame with several values. */
export function countOf(values: string): number {
  return values === '' ? 0 : values.split(',').length;
}
