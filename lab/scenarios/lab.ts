/** What scenarios need to know of a lab that is up. */

import { readFileSync } from 'node:fs';
import type { Machines } from '../cluster/power.ts';
import { type Output, run } from '../runner/machine.ts';
import { NODES } from './places.ts';
import { fromBird, fromFrr, type RouterTable } from './router-tables.ts';

export interface RouterPlace {
  readonly kind: 'frr' | 'bird';
  /** the words before a question: `vtysh -c …` or `birdc …` */
  readonly ask: readonly string[];
}

/** `kubectl apply -k` of this folder, or of `deployFolder`, the lab's own peers and pool, and until all of it runs */
export type Install = (folder?: string) => Promise<void>;

export interface LabPlaces {
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** by its name in the topology: the command that goes before, into its network namespace */
  readonly enter: (machine: string) => readonly string[];
  readonly routers: ReadonlyMap<string, RouterPlace>;
  /** what a user applies */
  readonly deployFolder: string;
  readonly install: Install;
  /** what the cluster runs on: its power, its API server */
  readonly machines: Pick<Machines, 'apiServer' | 'on' | 'switchOff' | 'switchOn' | 'importImage'>;
}

/** What vtysh says beside a line that it takes. */
const REMARKS = [
  /^Graceful restart configuration changed, reset (this peer|all peers) to take effect$/,
  // it can do without: all daemons have one file
  /^% Can't open config(uration)? file \/etc\/frr\/vtysh\.conf /,
];

/** The lines that are no remark, each of which is a complaint on stderr, and one on stdout where it begins as FRR's do. Pure. */
export function complaints({ stdout, stderr }: Pick<Output, 'stdout' | 'stderr'>): string[] {
  const lines = (text: string) => text.split('\n').map((line) => line.trim());
  return [...lines(stdout).filter((line) => line.includes('%')), ...lines(stderr)].filter(
    (line) => line !== '' && !REMARKS.some((remark) => remark.test(line)),
  );
}

export class Lab {
  readonly kubeconfig: string;
  readonly kubectl: string;
  readonly enter: (machine: string) => readonly string[];
  readonly #routers: ReadonlyMap<string, RouterPlace>;
  readonly machines: LabPlaces['machines'];
  readonly deployFolder: string;
  readonly install: Install;

  constructor(places: LabPlaces) {
    const { kubeconfig, kubectl, enter, routers, machines, deployFolder, install } = places;
    this.kubeconfig = kubeconfig;
    this.kubectl = kubectl;
    this.enter = enter;
    this.#routers = routers;
    this.machines = machines;
    this.deployFolder = deployFolder;
    this.install = install;
  }

  /** The API server stands still: connections stay open, and nothing is answered. */
  async freezeApi(): Promise<void> {
    process.kill(this.machines.apiServer(), 'SIGSTOP');
  }

  async thawApi(): Promise<void> {
    const pid = this.machines.apiServer();
    // the nsenter that started it stops with it, and would never see its end
    const [, parent = ''] =
      /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    for (const each of [pid, Number(parent)]) process.kill(each, 'SIGCONT');
  }

  /** Whatever state it is in: a node that has power keeps it, and is only heard again. */
  async powerOn(node: string, say: (line: string) => void): Promise<void> {
    if (!this.#hasPower(node)) await this.machines.switchOn(node, say);
    else await this.on(node, ['nft', 'add table inet no-power; delete table inet no-power']);
  }

  #hasPower(node: string): boolean {
    try {
      return this.machines.on(node).pid > 0;
    } catch {
      // which is how it says so
      return false;
    }
  }

  /**
   * What nodes remember of connections to this address. One that was open when its way went elsewhere is never ended at the node that had it, and stays
   * there with its pod for minutes; who comes to the address from the same port is led to that pod, which is gone with its story.
   */
  async forgetConnections(address: string): Promise<void> {
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    const call = ['conntrack', '-D', '-f', family, '-d', address];
    for (const node of NODES) {
      // where there was none, that is an error to it
      const { stderr } = await run([...this.enter(node), ...call], { anyStatus: true });
      if (!/ flow entries have been deleted/.test(stderr))
        throw new Error(`the connections to ${address} that ${node} remembers: ${stderr.trim()}`);
    }
  }

  /** A program on one of the machines. */
  async on(machine: string, args: readonly string[], input = ''): Promise<string> {
    return (await run([...this.enter(machine), ...args], { input })).stdout;
  }

  /** Lines within the `router bgp` of an FRR; they hold until it is started anew. */
  async configure(router: string, lines: readonly string[]): Promise<void> {
    const asn = router === 'tor1' ? 65_001 : 65_002;
    const commands = ['configure terminal', `router bgp ${asn}`, ...lines];
    // a remark, such as that a session must be reset, ends vtysh with 1 as well
    const call = [...this.#place(router).ask, ...commands.flatMap((line) => ['-c', line])];
    const said = complaints(await run(call, { anyStatus: true }));
    if (said.length === 0) return;
    throw new Error(`${router} does not take ${lines.join(', ')}: ${said.join('; ')}`);
  }

  /** One question, or order, to a router in its own words. */
  async ask(router: string, words: string): Promise<string> {
    return (await run([...this.#place(router).ask, '-c', words])).stdout;
  }

  #place(router: string): RouterPlace {
    const place = this.#routers.get(router);
    if (place === undefined) throw new Error(`there is no router ${router} in this lab`);
    return place;
  }

  async table(router: string, prefix: string): Promise<RouterTable> {
    const { kind, ask } = this.#place(router);
    if (kind === 'bird') {
      // what it gives to the kernel has the ways merged; a route that is not there is an error to birdc, and an answer to us
      const kernel = prefix.includes(':') ? 'kernel2' : 'kernel1';
      const question = ['show', 'route', prefix, 'export', kernel, 'all'];
      return fromBird(prefix, (await run([...ask, ...question], { anyStatus: true })).stdout);
    }
    const family = prefix.includes(':') ? 'ipv6' : 'ipv4';
    return fromFrr(prefix, await this.ask(router, `show bgp ${family} unicast ${prefix} json`));
  }
}
