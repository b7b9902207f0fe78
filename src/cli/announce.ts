/**
 * `herald announce`: a one-shot speaker for anyone who wants to test a router. Announces prefixes, stays until it is told to
 * stop, then withdraws them, says why it goes (Cease with a text) and exits 0.
 */

import { parseArgs } from 'node:util';
import {
  createSpeaker,
  ErrorCode,
  formatEndpoint,
  type PeerSettings,
  type Prefix,
  type Route,
  type SpeakerEvent,
} from 'bgp-ts';
import { type AnnounceOptions, announceOptions } from './announce-options.ts';
import { AnnounceReport } from './announce-report.ts';
import { type Command, UsageError, type World } from './command.ts';
import { defaultRouterId } from './default-router-id.ts';
import { readBytes, readPassword } from './password-file.ts';
import { type PrefixList, parsePrefixArguments, parsePrefixList } from './prefix-list.ts';

const HELP = `usage: herald announce --peer ADDRESS[:PORT] --peer-asn N --asn N [options] PREFIX…
       herald announce --peer ADDRESS[:PORT] --peer-asn N --asn N [options] --from FILE

A one-shot BGP speaker, to test a router with. Announces the prefixes, keeps the session up, and on
SIGTERM or SIGINT (Ctrl-C) withdraws them, sends Cease with a text and exits. It dials and never
listens; what the router announces is ignored.

A PREFIX is 192.0.2.0/24, 2001:db8::/32, or an address alone for its host route.

Session
  --peer ADDRESS[:PORT]   the router, on port 179 unless another is given; IPv6 with a port is
                          [2001:db8::1]:1179, link-local is fe80::1%eth0
  --peer-asn N            its AS number, or 'external' (any but ours) or 'internal' (ours)
  --asn N                 our AS number; the same as --peer-asn makes it an internal session
  --source ADDRESS        dial from this local address
  --router-id ID          our BGP identifier, like 192.0.2.1; if not given, an IPv4 address of this
                          machine
  --hold N                hold time in seconds, 0 (none) or 3 to 65535 (default 9)
  --password-file FILE    TCP-MD5 key (RFC 2385): the first line of FILE; needs CAP_NET_ADMIN on
                          some kernels
  --ttl-security          GTSM (RFC 5082): send with TTL 255, accept nothing less
  --connect-timeout S     give up, exit 1, when there is no session for S seconds; without it
                          dialling goes on for ever

Routes
  --from FILE             one prefix per line; '-' is standard input; '#' starts a comment
  --next-hop ADDRESS      next hop, once per family; if not given, our own address on the
                          session's interface
  --community C           65000:1, 65000:1:2 (large), rt:65000:1, link-bandwidth:65000:1.25e8, or a
                          name such as no-export, no-advertise, blackhole, graceful-shutdown; may be
                          given several times
  --med N                 MULTI_EXIT_DISC
  --local-pref N          LOCAL_PREF, sent on internal sessions only
  --prepend N             put our AS number N more times in front of the path, on external sessions

Output
  --json                  one JSON object per line on stdout:
                          {"event":"session|synced|notification|stopped","time":…}
  --help                  this text

Exit status: 0 stopped by a signal, 1 no session within --connect-timeout or the router refused our
OPEN, 2 wrong usage.

Examples
  herald announce --peer 192.0.2.1 --peer-asn 64500 --asn 64512 198.51.100.7
  herald announce --peer '[2001:db8::1]:1179' --peer-asn external --asn 64512 \\
    --community graceful-shutdown --from list.txt
`;

const FLAGS = {
  peer: { type: 'string' },
  'peer-asn': { type: 'string' },
  asn: { type: 'string' },
  source: { type: 'string' },
  'router-id': { type: 'string' },
  'next-hop': { type: 'string', multiple: true },
  community: { type: 'string', multiple: true },
  med: { type: 'string' },
  'local-pref': { type: 'string' },
  prepend: { type: 'string' },
  hold: { type: 'string' },
  'password-file': { type: 'string' },
  'ttl-security': { type: 'boolean' },
  'connect-timeout': { type: 'string' },
  from: { type: 'string' },
  json: { type: 'boolean' },
} as const;

const PEER_NAME = 'peer';
const PROGRESS_EVERY_MS = 1000;

export const announceCommand: Command = {
  name: 'announce',
  summary: 'announce prefixes to a router and withdraw them on exit: a one-shot BGP speaker',
  help: HELP,
  async run(args, world) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: FLAGS,
      allowPositionals: true,
    });
    const options = announceOptions(values, positionals);
    const list = await readPrefixes(options, world);
    for (const warning of list.warnings) world.stderr.write(`herald announce: ${warning}\n`);
    return await announce(options, list.prefixes, world);
  },
};

async function readPrefixes(options: AnnounceOptions, world: World): Promise<PrefixList> {
  if (options.from === undefined) return parsePrefixArguments(options.prefixes);
  const source = options.from === '-' ? 'standard input' : options.from;
  const bytes = options.from === '-' ? await readAll(world.stdin) : readBytes(source);
  const list = parsePrefixList(bytes.toString('latin1'), source);
  if (list.prefixes.length === 0) throw new UsageError(`${source} holds no prefix`);
  return list;
}

/** As a stream: what is inherited from another program may not block, and then a plain read has nothing yet (EAGAIN). */
async function readAll(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk);
  }
  return Buffer.concat(chunks);
}

function peerSettings(options: AnnounceOptions): PeerSettings {
  const { peer, source } = options;
  return {
    name: PEER_NAME,
    ...peer,
    localAsn: options.asn,
    peerAsn: options.peerAsn,
    routerId: options.routerId ?? defaultRouterId(source),
    timers: { holdSeconds: options.holdSeconds, connectRetrySeconds: 2 },
    nextHop: { ...options.nextHop, ipv6LinkLocal: false },
    ...(source === undefined ? {} : { sourceAddress: source }),
    ...(options.passwordFile === undefined ? {} : { password: readPassword(options.passwordFile) }),
    ...(options.ttlSecurity ? { ttl: { kind: 'gtsm', hops: 1 } } : {}),
  };
}

async function announce(
  options: AnnounceOptions,
  prefixes: readonly Prefix[],
  world: World,
): Promise<number> {
  const settings = peerSettings(options);
  const peer = formatEndpoint(options.peer);
  const output = {
    say: (sentence: string) => world.stderr.write(`herald announce: ${sentence}\n`),
    fact: (fact: object) => options.json && world.stdout.write(`${JSON.stringify(fact)}\n`),
  };
  const report = new AnnounceReport(output, peer, () => new Date());
  const speaker = createSpeaker();
  const ending = new Ending(options, world);
  speaker.subscribe((event) => {
    report.event(event);
    ending.watch(event);
  });
  const count =
    prefixes.length === 1 ? '1 prefix' : `${prefixes.length.toLocaleString('en')} prefixes`;
  output.say(`dialling ${peer} to announce ${count}`);
  const [refused] = speaker.apply({
    peers: [{ settings, routes: routesOf(prefixes, options) }],
  });
  if (refused !== undefined) throw new UsageError(refused.sentence);
  const progress = setInterval(() => {
    const [status] = speaker.status();
    if (status?.state !== 'established' || status.routesPending === 0) return;
    report.progress(prefixes.length - status.routesPending, prefixes.length);
  }, PROGRESS_EVERY_MS);
  const { reason, exitCode } = await ending.reached;
  clearInterval(progress);
  const text = `herald announce: ${reason}`;
  await speaker.stop({ kind: 'shutdown', text });
  report.stopped(reason, exitCode);
  return exitCode;
}

function* routesOf(prefixes: readonly Prefix[], options: AnnounceOptions): Iterable<Route> {
  const { attributes } = options;
  for (const prefix of prefixes) yield { prefix, attributes };
}

interface End {
  readonly reason: string;
  readonly exitCode: number;
}

/** Decides when the command is over: a signal, a refused OPEN, or too long without a session. */
class Ending {
  readonly reached: Promise<End>;
  readonly #timeoutSeconds: number | undefined;
  #resolve: (end: End) => void = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AnnounceOptions, world: World) {
    this.#timeoutSeconds = options.connectTimeoutSeconds;
    this.reached = new Promise((resolve) => {
      this.#resolve = (end) => {
        clearTimeout(this.#timer);
        resolve(end);
      };
    });
    world.onStopSignal((signal) => this.#resolve({ reason: `stopped by ${signal}`, exitCode: 0 }));
    this.#startTimer();
  }

  watch(event: SpeakerEvent): void {
    if (event.kind === 'established') clearTimeout(this.#timer);
    if (event.kind !== 'down') return;
    if (event.wasEstablished) this.#startTimer();
    const { reason } = event;
    const isRefusal =
      !event.wasEstablished &&
      (reason.kind === 'notification-received' || reason.kind === 'notification-sent') &&
      reason.code === ErrorCode.open;
    if (!isRefusal) return;
    const who =
      reason.kind === 'notification-received'
        ? 'the router refused our OPEN'
        : "the router's OPEN is not acceptable";
    this.#resolve({ reason: `${who}: ${reason.detail}`, exitCode: 1 });
  }

  #startTimer(): void {
    if (this.#timeoutSeconds === undefined) return;
    const reason = `no session within ${this.#timeoutSeconds} s`;
    this.#timer = setTimeout(
      () => this.#resolve({ reason, exitCode: 1 }),
      this.#timeoutSeconds * 1000,
    );
  }
}
