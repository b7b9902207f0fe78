/**
 * Servers behind HTTPS checks that let their client work. The judge is BIRD, with a hold time of three seconds: a main thread that stands
 * still for longer costs the session.
 */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AgentLab, claim, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';
const HOLD_MS = 3000;
const quick = { holdSeconds: HOLD_MS / 1000, keepaliveSeconds: 1, connectRetrySeconds: 1 };
const SERVER = new URL('../../support/costly-tls.ts', import.meta.url).pathname;

describe('standalone: no server behind an HTTPS check stalls the agent', function () {
  this.timeout(120_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('tls');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  for (const [what, name] of [
    ['group', 'a DHE group of 10,000 bits'],
    ['chain', 'a chain of 90 KB of certificates'],
  ] as const) {
    it(`20 checks of a server with ${name}`, async () => {
      const [key, cert] = [join(lab.node.folder, 'key'), join(lab.node.folder, 'cert')];
      const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert];
      execFileSync('openssl', ['req', '-x509', '-subj', '/CN=x', ...made], { stdio: 'ignore' });
      const args = [SERVER, '8443', '127.0.0.1', what, key, cert];
      const server = lab.node.spawn('costly', process.execPath, args);
      try {
        await untilValue(
          'the server listens',
          async () => server.log(),
          (log) => log.includes('listens'),
        );
        const since = await lab.startAnnouncing([VIP], peer({ timers: quick }), pool());
        const http = { url: 'https://127.0.0.1:8443/' };
        const check = { http, intervalSeconds: 1, timeoutSeconds: 1 };
        const checked = Array.from({ length: 20 }, (_, n) => `198.51.100.${n + 100}`);
        lab.write({ 'checked.yaml': checked.map((one) => claim(one, { checks: [check] })) });
        await pause(4 * HOLD_MS);
        expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
          since,
          SAME_SESSION_MS,
        );
        const second = '198.51.100.11';
        lab.write({ 'two.yaml': [claim(second)] });
        await lab.announces([VIP, second]);
      } finally {
        await server.kill();
      }
    });
  }
});
