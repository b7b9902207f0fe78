/**
 * `herald demo`: its arguments. What they lead to is in demo-run.ts, loaded when it is needed: three of the demo's own processes come
 * through here as well, and have no use for it.
 */

import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { argv, execArgv, execPath } from 'node:process';
import { parseArgs } from 'node:util';
import { type Command, UsageError, type World } from './command.ts';
import type { DemoRun } from './demo-run.ts';

const HELP = `usage: herald demo [--http A:P | --no-web] [--speed N] [--break hold]

One router and three machines on this machine's loopback, without root and without a cluster: a real
'herald router', three real 'herald agent' processes, and a stand-in API server beside each. A story
of eight steps runs by itself in about 40 seconds: sessions without routes, API servers that come up,
ECMP, a drain that loses nothing, a machine that freezes and thaws, one that is killed and revived.
A client sends a request every 40 ms by the router's table of that moment. Every step is judged by
the router's own table, not by what the agents say.

On a terminal it shows all of this live, and then stays for you to play:
  1 2 3   choose a machine        d   drain it, or take it back in
  f       freeze or thaw it       k   kill or revive it
  a       stop or start its API server
  s       skip the rest of the story
  q       quit
The same is on a page of its own, at the address that is printed. Without a terminal it prints plain
lines and ends after the story.

Options
  --http A:P      serve the page there; port 0 takes a free one (default 127.0.0.1:0). Whoever can
                  reach it can press its buttons: keep it on loopback
  --no-web        no page
  --speed N       pauses for the reader are N times shorter; timers and bounds stay real (default 1)
  --break hold    a router that never expires a silent neighbour: the step with the frozen machine
                  must fail, and does
  --help          this text

Everything is in a temporary directory (TMPDIR) that is gone at the end, with all the processes, also
when the demo itself is killed.

Exit status: 0 every step was seen at the router, or you skipped the rest; 1 a step was not seen, or
it cannot run here; 2 wrong usage.
`;

const FLAGS = {
  http: { type: 'string' },
  'no-web': { type: 'boolean' },
  speed: { type: 'string' },
  break: { type: 'string' },
} as const;

const MAX_SPEED = 100;

export const demoCommand: Command = {
  name: 'demo',
  summary: 'a router and three machines on loopback, and what happens to them',
  help: HELP,
  async run(args, world) {
    if (args[0] === 'api-server') return await apiServer(args.slice(1), world);
    const options = readOptions(args, world);
    const { runDemo } = await import('./demo-run.ts');
    return await runDemo(options, world);
  },
};

/** What the demo starts as a machine's API server: `herald demo api-server A:P NAME`. */
async function apiServer(args: readonly string[], world: World): Promise<number> {
  const { runApiServer } = await import('../demo/api-server.ts');
  const [at = '', name = ''] = args;
  const { host, port } = readEndpoint('api-server', at);
  await runApiServer({ name, host, port, onStopSignal: world.onStopSignal });
  return 0;
}

function readOptions(args: readonly string[], world: World): DemoRun {
  const { values } = parseArgs({ args: [...args], options: FLAGS });
  const { http, speed = '1' } = values;
  if (values.break !== undefined && values.break !== 'hold') {
    throw new UsageError(`--break '${values.break}' is not known; there is: hold`);
  }
  if (http !== undefined && values['no-web'] === true) {
    throw new UsageError('--http and --no-web contradict each other');
  }
  if (!/^\d+(\.\d+)?$/.test(speed) || Number(speed) < 0.1 || Number(speed) > MAX_SPEED) {
    throw new UsageError(`--speed '${speed}' is not a number from 0.1 to ${MAX_SPEED}`);
  }
  const web = readEndpoint('--http', http ?? '127.0.0.1:0');
  return {
    web: values['no-web'] === true ? undefined : web,
    demo: {
      program: { command: execPath, args: [...execArgv, argv[1] ?? ''], env: world.env },
      temporary: tmpdir(),
      speed: Number(speed),
      isHoldBroken: values.break === 'hold',
    },
  };
}

function readEndpoint(
  what: string,
  text: string,
): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? '';
  const port = Number(digits);
  if (isIP(host) === 0 || !(port <= 65535)) {
    throw new UsageError(`${what} '${text}' is not ADDRESS:PORT, like 127.0.0.1:8080`);
  }
  return { host, port };
}
