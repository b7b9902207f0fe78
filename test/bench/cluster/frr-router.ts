/**
 * FRR's bgpd as the router of a cluster's nodes on loopback: who dials from the range is a neighbour. Alone, without zebra and root: its table is read, nothing is
 * forwarded. Its hold timer is exact, where BIRD's may be seconds late.
 */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts } from '../../cluster/support/servers.ts';
import { entries, field, items, optionalText, parseJson } from '../../interop/routers/json.ts';
import { done, until } from '../../support/poll.ts';
import { Running } from '../../support/process.ts';
import { FrrVty } from './frr-vty.ts';

const BGPD = '/usr/lib/frr/bgpd';
const ASN = 64_500;

export class FrrRouter {
  readonly address = '127.0.0.1';
  readonly asn = ASN;
  readonly port: number;
  readonly #running: Running;
  #vty: FrrVty | undefined;

  private constructor(folder: string, port: number) {
    this.port = port;
    const own = ['-Z', '-S', '-n', '-P', '0', '--log', 'stdout', '--vty_socket', folder];
    const place = ['-p', String(port), '-l', this.address, '-i', join(folder, 'bgpd.pid')];
    const argv = ['setpriv', '--pdeathsig', 'KILL', BGPD, ...own, ...place];
    this.#running = new Running([...argv, '-f', join(folder, 'bgpd.conf')], join(folder, 'log'));
  }

  static async start(parent: string, holdSeconds: number): Promise<FrrRouter> {
    const [port = 0] = await freePorts(1);
    const folder = mkdtempSync(join(parent, 'frr-'));
    writeFileSync(join(folder, 'bgpd.conf'), configuration(holdSeconds));
    const router = new FrrRouter(folder, port);
    await until('bgpd answers', async () => {
      if (!router.#running.isRunning) throw new Error(`bgpd ended: ${router.#running.log()}`);
      await router.#connect(join(folder, 'bgpd.vty'));
      return done(await router.neighbours('198.18.0.1'));
    });
    return router;
  }

  /** Addresses of the neighbours that announce this address to it. */
  async neighbours(address: string): Promise<readonly string[]> {
    if (this.#vty === undefined) throw new Error('bgpd has not answered yet');
    const table = parseJson(await this.#vty.ask('show bgp ipv4 unicast json'));
    const paths = entries(field(table, 'routes')).filter(([prefix]) => prefix === `${address}/32`);
    return paths
      .flatMap(([, found]) => items(found))
      .map((path) => optionalText(field(path, 'peerId')) ?? '');
  }

  async #connect(path: string): Promise<void> {
    this.#vty = await FrrVty.open(path);
  }

  kill(): Promise<void> {
    this.#vty?.close();
    return this.#running.kill();
  }
}

function configuration(holdSeconds: number): string {
  return `router bgp ${ASN}
 bgp router-id 192.0.2.253
 no bgp ebgp-requires-policy
 bgp disable-ebgp-connected-route-check
 neighbor nodes peer-group
 neighbor nodes remote-as external
 neighbor nodes ebgp-multihop 255
 neighbor nodes passive
 neighbor nodes timers ${Math.floor(holdSeconds / 3)} ${holdSeconds}
 bgp listen range 127.0.0.0/8 peer-group nodes
`;
}
