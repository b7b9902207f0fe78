/** `herald router`: builds the router of src/router on this machine, runs it until it is told to stop, and says what happens. */

import { parseArgs } from 'node:util';
import { type Endpoint, formatEndpoint, nodeClock } from 'bgp-ts';
import { RouterHttp } from '../router/http.ts';
import { createRouter } from '../router/node-router.ts';
import { RouterError } from '../router/router.ts';
import type { Command, World } from './command.ts';
import { defaultRouterId } from './default-router-id.ts';
import { readPassword } from './password-file.ts';
import { type RouterOptions, routerOptions } from './router-options.ts';
import { RouterReport } from './router-report.ts';

const HELP = `usage: herald router --asn N --neighbor-range CIDR… [options]

A small BGP router for the demo, for tests, and for a site whose "load balancer" is one Linux
machine. It accepts neighbours, keeps what they announce, chooses with ECMP, and with --install
puts multipath routes into the kernel. It announces nothing itself and knows no policy.
Beyond that, FRR or BIRD is the choice: 'herald manifest router --for frr' writes their
configuration.

Neighbours
  --listen A:P            where to listen; [::] is all addresses of both families, 0.0.0.0 those of
                          IPv4 (default [::]:179)
  --asn N                 our AS number
  --router-id ID          our BGP identifier, like 192.0.2.1; if not given, an IPv4 address of this
                          machine
  --neighbor-range CIDR   who dials from there is a neighbour (at most 100 at a time per range);
                          may be given several times
  --neighbor-asn N        the neighbours' AS number, or 'external' (any but ours, the default), or
                          'any' (ours too)
  --max-prefix N          most prefixes of one neighbour (default 1000); one that announces more is
                          cut off with Cease 6/1 and held off for a while, longer each time
  --hold N                hold time in seconds, 3 to 65535 (default 9); the smaller one of both
                          sides counts. 0: neighbours that fall silent never expire
  --password-file FILE    TCP-MD5 key of all neighbours (RFC 2385): the first line of FILE. Without
                          it, whoever can dial from a range can announce routes

Routes
  --install               put the routes into the kernel, with protocol 72; needs CAP_NET_ADMIN.
                          Those that a crash left are removed at the start, all at the end
  --table N               into this table (default main); one router per table

Output
  --http A:P              serve GET /routes, GET /peers, and GET /events (server-sent events)
  --log-level LEVEL       error, warn, info or debug (default info); debug shows every route
  --help                  this text

On SIGTERM or SIGINT (Ctrl-C) it sends Cease to all neighbours, removes its routes from the kernel
and exits.

Exit status: 0 stopped by a signal, 1 it cannot listen or not install, 2 wrong usage.

Examples
  herald router --listen 127.0.0.1:1179 --asn 64500 --neighbor-range 127.0.0.0/8 \\
    --http 127.0.0.1:8080
  herald router --asn 64500 --neighbor-range 192.0.2.0/24 --neighbor-range 2001:db8:2::/64 \\
    --password-file /etc/herald/bgp.key --max-prefix 500 --install
`;

const FLAGS = {
  listen: { type: 'string' },
  asn: { type: 'string' },
  'router-id': { type: 'string' },
  'neighbor-range': { type: 'string', multiple: true },
  'neighbor-asn': { type: 'string' },
  'max-prefix': { type: 'string' },
  hold: { type: 'string' },
  'password-file': { type: 'string' },
  install: { type: 'boolean' },
  table: { type: 'string' },
  http: { type: 'string' },
  'log-level': { type: 'string' },
} as const;

const EXIT_FAILED = 1;

export const routerCommand: Command = {
  name: 'router',
  summary: 'a small BGP router: neighbours by range, ECMP, routes into the kernel',
  help: HELP,
  isService: true,
  async run(args, world) {
    const { values } = parseArgs({ args: [...args], options: FLAGS });
    return await run(routerOptions(values), world);
  },
};

async function run(options: RouterOptions, world: World): Promise<number> {
  const stopped = new Promise<string>((resolve) => world.onStopSignal(resolve));
  const report = new RouterReport(world, options.logLevel, nodeClock);
  const { install, passwordFile, maxPrefixes, neighborRanges, listen } = options;
  const settings = {
    ...options,
    routerId: options.routerId ?? defaultRouterId(hostOf(listen.address)),
    maxPrefixes,
    ...(passwordFile === undefined ? {} : { password: readPassword(passwordFile) }),
  };
  const router = createRouter(settings, install === undefined ? {} : { install });
  const http = new RouterHttp(router);
  router.subscribe((event) => report.event(event));
  try {
    // before the router: whoever fails here has not touched the kernel
    if (options.http !== undefined) {
      const served = await startHttp(http, options.http);
      report.line('info', `serving http://${formatEndpoint(served)}/routes`);
    }
    const local = await router.start();
    if (passwordFile === undefined) report.warnOpenRanges(neighborRanges);
    report.line('info', `listening on ${formatEndpoint(local)}, AS ${options.asn}`);
  } catch (error) {
    await http.stop();
    report.close();
    if (!(error instanceof RouterError)) throw error;
    report.complain('error', error.message + hint(error));
    return EXIT_FAILED;
  }
  const signal = await stopped;
  const problem = await router.stop(`herald router: stopped by ${signal}`);
  report.close();
  await http.stop();
  if (problem === undefined) return 0;
  report.complain('error', problem);
  return EXIT_FAILED;
}

function hostOf(address: RouterOptions['listen']['address']) {
  return address?.family === 'ipv4' && address.bits !== 0 ? address : undefined;
}

async function startHttp(
  http: RouterHttp,
  at: NonNullable<RouterOptions['http']>,
): Promise<Endpoint> {
  try {
    return await http.start(at);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const why = HTTP_PROBLEMS[code] ?? code;
    throw new RouterError(`cannot serve on ${formatEndpoint(at)}: ${why}`, { cause: error });
  }
}

const HTTP_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address and port are in use by another program',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'not permitted; a port below 1024 needs CAP_NET_BIND_SERVICE',
};

/** who has the port is the next question */
function hint(error: RouterError): string {
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : '';
  const isTaken = code === 'ADDRESS_IN_USE' || code === 'EADDRINUSE';
  return isTaken ? '; `ss -ltnp` shows which one' : '';
}
