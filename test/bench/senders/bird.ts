/**
 * BIRD 2 with static routes in its configuration. Twice: BIRD 2.0.12 that has nothing else to do stops in the middle of its
 * first table until its main loop wakes up by itself, which takes 3 s (the UPDATEs of one capture are 3.000 s apart). A
 * router with other neighbours is woken all the time, so beside the plain one stands one that is asked for its status every few
 * milliseconds.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { done, until } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { BirdControl } from '../bird-control.ts';
import { type BenchRoute, prefixText } from '../load.ts';
import { network } from '../network.ts';
import type { Sender, SenderName } from '../sender.ts';

const wakeEveryMs = 5;

function routeLine(route: BenchRoute): string {
  if (route.communities.length === 0) return `  route ${prefixText(route)} blackhole;`;
  const added = route.communities.map(([high, low]) => `bgp_community.add((${high},${low}));`);
  return `  route ${prefixText(route)} blackhole { ${added.join(' ')} };`;
}

// The connect delay is 5 s by default and 1 s is the least that BIRD takes.
const config = (routes: readonly BenchRoute[]): string => `
router id ${network.sender};
log stderr { warning, error, fatal, bug, auth };
protocol device { }
protocol static {
  ipv4;
${routes.map(routeLine).join('\n')}
}
protocol bgp receiver {
  local ${network.sender} as ${network.senderAsn};
  neighbor ${network.receiver} as ${network.receiverAsn};
  connect delay time 1;
  connect retry time 1;
  ipv4 { import none; export all; };
}
`;

function makeBird(name: SenderName, label: string, isKeptAwake: boolean): Sender {
  return {
    name,
    label,
    method: `static routes in the configuration; connect delay time 1 (default 5)${
      isKeptAwake ? `; asked for its status every ${wakeEveryMs} ms` : ''
    }`,
    dialling: 'sender',
    async version() {
      const { stdout, stderr } = await run('bird', ['--version'], { anyStatus: true });
      return /BIRD version (\S+)/.exec(stdout + stderr)?.[1];
    },
    prepare(host, load) {
      const file = join(host.folder, 'bird.conf');
      const socket = join(host.folder, 'bird.ctl');
      writeFileSync(file, config(load.routes));
      const args = ['-f', '-c', file, '-s', socket];
      return async () => {
        const child = host.spawn(name, 'bird', args);
        if (isKeptAwake) await keepAwake(socket);
        return { processes: [child] };
      };
    },
  };
}

/** Asks for ever; BIRD closes the socket when it ends, and that ends this too. */
async function keepAwake(socket: string): Promise<void> {
  const control = await until(
    'BIRD answers on its control socket',
    async () => done(await BirdControl.open(socket)),
    { everyMs: 5 },
  );
  const ask = (): void => {
    control.ask('show status').then(
      () => setTimeout(ask, wakeEveryMs),
      () => control.close(),
    );
  };
  ask();
}

export const bird = makeBird('bird', 'BIRD', false);
export const birdAwake = makeBird('bird-awake', 'BIRD, kept awake', true);
