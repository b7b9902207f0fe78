/**
 * Why a neighbour range needs a password. A pod behind the NAT of a node dials the router: the router sees the node's address,
 * which is inside the range. Without a password it gets a session and injects a route for an address of the pool; with one it does not,
 * and the node itself still does. Asserted on the router's table.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { skipWithoutLab } from '../interop/require-lab.ts';
import type { Host } from '../support/netns.ts';
import { untilValue } from '../support/poll.ts';
import type { LoadedKind } from './manifest-router-daemons.ts';
import {
  key,
  nodeAsn,
  type RouterDocuments,
  RouterLab,
  routerFile,
} from './manifest-router-lab.ts';

const range = ['--neighbor-range', '10.0.0.0/24'];
const attackerProgram = join(import.meta.dirname, 'blind-attacker.ts');
const stolen = '192.0.2.66';

/** A pod on a node: its own network, the node's address outside. */
async function podBehind(lab: RouterLab, node: Host): Promise<Host> {
  const pod = await lab.lab.host('pod', { forward: false });
  await lab.lab.link(node, pod, { a: ['10.244.0.1/24'], b: ['10.244.0.2/24'] });
  await pod.ip('route add default via 10.244.0.1');
  const rules = `table ip nat {
  chain out { type nat hook postrouting priority srcnat; ip saddr 10.244.0.0/24 oifname "eth0" masquerade; }
}`;
  await node.exec('nft', ['-f', '-'], { input: rules });
  return pod;
}

/** The router from its manifest, a node that does NAT, and the attacker in a pod behind it. */
function attackOn(kind: LoadedKind) {
  return async (documents: RouterDocuments, ...flags: readonly string[]) => {
    const lab = await RouterLab.start(kind, await routerFile(kind, documents, ...range, ...flags));
    const node = await lab.node(11, true);
    const pod = await podBehind(lab, node);
    // the next hop is a machine that the router reaches; until somebody stops it, it tries again
    const program = ['--conditions=bgp-ts-source', attackerProgram, '10.0.0.1', '179'];
    const words = [process.execPath, ...program, String(nodeAsn), '10.0.0.11', `${stolen}/32`];
    pod.spawn('attacker', 'bash', ['-c', `while :; do ${words.join(' ')}; sleep 1; done`]);
    return { lab, node };
  };
}

describe('manifest router: a pod behind NAT and a neighbour range', function () {
  this.timeout(180_000);

  before(function () {
    skipWithoutLab(this, ['frr', 'bird']);
  });

  for (const kind of ['frr', 'bird'] as const) {
    const attack = attackOn(kind);

    it(`${kind}: without a password the pod injects a route`, async () => {
      const { lab } = await attack({}, '--insecure');
      try {
        await lab.table('ipv4', [`${stolen}/32 10.0.0.11`]);
        expect(await lab.router.established()).to.deep.equal(['10.0.0.11']);
      } finally {
        await lab.lab.destroy();
      }
    });

    it(`${kind}: with the password it does not, and the node does`, async () => {
      const { lab, node } = await attack({ password: key });
      try {
        const dropped = () => unsignedDropped(lab.host);
        await untilValue('unsigned packets that the router drops', dropped, (count) => count > 1, {
          timeoutMs: 90_000,
        });
        expect(await lab.router.established()).to.deep.equal([]);
        lab.announce(node, 'node', ...lab.signed(key), '192.0.2.8');
        await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
      } finally {
        await lab.lab.destroy();
      }
    });
  }

  it('frr: TTL security does not stop it, since FRR does not check it for a range', async () => {
    const { lab } = await attackOn('frr')({ ttlSecurity: true }, '--insecure');
    try {
      await lab.table('ipv4', [`${stolen}/32 10.0.0.11`]);
    } finally {
      await lab.lab.destroy();
    }
  });
});

/** What the kernel of this host threw away because a signature was due and missing. */
async function unsignedDropped(host: Host): Promise<number> {
  const { stdout } = await host.exec('cat', ['/proc/net/netstat']);
  const [names = '', values = ''] = stdout.split('\n').filter((line) => line.startsWith('TcpExt:'));
  const at = names.split(' ').indexOf('TCPMD5NotFound');
  return Number(values.split(' ')[at]);
}
