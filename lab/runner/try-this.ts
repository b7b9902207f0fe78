/** What `make lab` shows when the lab is up: the first answer from outside, the addresses, and what to try. */

import { setTimeout as delay } from 'node:timers/promises';
import { LabRefusal } from './refusal.ts';
import type { RunningLab } from './up.ts';

const patienceMs = 60_000;

/** What the service says to the client; until then routers and agents are still finding each other. */
export async function firstAnswer(lab: RunningLab, signal: AbortSignal): Promise<string> {
  const ask = ['curl', '-s', '--max-time', '1', 'http://192.0.2.80/'];
  const deadline = performance.now() + patienceMs;
  for (;;) {
    signal.throwIfAborted();
    const { status, stdout } = await lab.exec('client', ask, { anyStatus: true });
    if (status === 0) return stdout.trim();
    if (performance.now() > deadline) {
      throw new LabRefusal(
        `the client had no answer from 192.0.2.80 within ${patienceMs / 1000} s; \`lab/runner/lab up --keep\` leaves the lab for a look`,
      );
    }
    await delay(200);
  }
}

export function tryThis(lab: RunningLab, answer: string): string {
  const nodes = [...lab.nodes.values()]
    .filter(({ name }) => !name.endsWith('-herald'))
    .map(({ name, addresses }) => `  ${name.padEnd(8)}${addresses.join('  ')}`);
  return `
${nodes.join('\n')}

  http://192.0.2.80/ and http://[2001:db8:64::80]/ are served by n1, n2 and n3; the client's first answer: ${answer}

What to try (alias lab=lab/runner/lab)
  lab exec client curl -s http://192.0.2.80/            again and again: ECMP in the spine and in tor1
  lab exec spine ip route show 192.0.2.80               one next hop per rack
  lab exec tor1 vtysh -c 'show bgp ipv4 unicast'        one path per node of the rack
  lab exec spine birdc show protocols
  lab exec n1-herald herald explain 192.0.2.80          every gate between the claim and the route
  lab exec n2 pkill -f answer.pl                        no web server, no route: n2 is out in about 3 s
  lab exec n2 perl /opt/web/answer.pl n2                and back
  lab kill --signal SIGTERM n1-herald                   a drain; lab start n1-herald brings it back
  lab kill --signal SIGSTOP n3-herald                   a silent death: gone after the hold time, 9 s
  lab status
  make lab-down
`;
}
