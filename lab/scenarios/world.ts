/**
 * What a scenario can do: speak to the cluster as a person with kubectl, look into the routers, be a client outside. A namespace of its own,
 * and everything that it made is taken away when it ends, however it ends.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NAMESPACE } from '../../src/model/names.ts';
import type { Outage } from '../../tools/probe/probe-log.ts';
import { type RunOptions, run } from '../runner/machine.ts';
import { type ProbeWish, Probing } from './client.ts';
import type { Lab } from './lab.ts';
import { type Json, misfits } from './partial.ts';
import { spineFrom, torOf, uplinkOf } from './places.ts';
import { eventually, type Patience } from './poll.ts';
import type { RouterTable } from './router-tables.ts';

export type { Outage };

const CHANGE_OVER_MS = 100;
const KUBECTL_MS = 120_000;

const CUT = `table inet silence {
  chain in { type filter hook prerouting priority -400; iifname "eth1" drop; }
  chain out { type filter hook postrouting priority 400; oifname "eth1" drop; }
}
`;

export class World {
  readonly lab: Lab;
  readonly namespace: string;
  readonly #folder: string;
  readonly #say: (line: string) => void;
  readonly #ends: (() => Promise<unknown>)[] = [];
  #isGraceful = false;

  constructor(lab: Lab, name: string, say: (line: string) => void) {
    this.lab = lab;
    this.namespace = `lab-${name}`;
    this.#folder = join(import.meta.dirname, name);
    this.#say = say;
  }

  async begin(): Promise<void> {
    this.later(() => this.kubectl(['delete', 'namespace', this.namespace, '--ignore-not-found']));
    await this.kubectl(['create', 'namespace', this.namespace]);
  }

  /** The last thing that was begun ends first; what cannot be taken away is told, and the rest is. */
  async end(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const end of this.#ends.splice(0).reverse()) {
      await end().catch((error: unknown) => problems.push(String(error)));
    }
    return problems;
  }

  /** What a person would look at first when a story goes wrong. */
  async evidence(): Promise<string> {
    const questions = [
      ['get', 'pods,services', '-A', '-o', 'wide'],
      ['get', 'ipclaims,ipnodes,bgppeers,ippools'],
      ['-n', NAMESPACE, 'logs', '-l', 'app.kubernetes.io/component=agent', '--tail=15', '--prefix'],
    ];
    const answers = questions.map((each) => this.kubectl(each).catch(String));
    return (await Promise.all(answers)).join('\n');
  }

  later(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  say(line: string): void {
    this.#say(line);
  }

  /** as the user of the kubeconfig, in the namespace of the scenario unless `args` name another */
  async kubectl(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { kubectl, kubeconfig } = this.lab;
    const call = [kubectl, '--kubeconfig', kubeconfig, '-n', this.namespace, ...args];
    return (await run(call, { timeoutMs: KUBECTL_MS, ...options })).stdout;
  }

  /** A file of the scenario's folder; what is in it is deleted at the end. */
  async apply(file: string, namespace = this.namespace): Promise<void> {
    const path = join(this.#folder, file);
    const inPlace = ['-n', namespace];
    const gone = ['delete', '-f', path, '--ignore-not-found', '--wait=false'];
    this.later(() => this.kubectl([...inPlace, ...gone]));
    await this.kubectl([...inPlace, 'apply', '-f', path]);
  }

  /** What nearly every story begins with: the pods and the Service of its web.yaml, and the address that the Service has got. */
  async serveWeb(): Promise<{ readonly address: string; readonly prefix: string }> {
    await this.apply('web.yaml');
    await this.rolledOut('deployment/web');
    const address = await this.addressOf('web');
    return { address, prefix: `${address}/32` };
  }

  async rolledOut(what: string, withinSeconds = 180, namespace = this.namespace): Promise<void> {
    const args = ['-n', namespace, 'rollout', 'status', what, `--timeout=${withinSeconds}s`];
    await this.kubectl(args, { timeoutMs: (withinSeconds + 10) * 1000 });
  }

  async json(args: readonly string[]): Promise<unknown> {
    return JSON.parse(await this.kubectl([...args, '-o', 'json']));
  }

  /** One field of an object, as JSONPath; '' where there is none. */
  field(object: string, path: string): Promise<string> {
    return this.kubectl(['get', object, '-o', `jsonpath={${path}}`, '--ignore-not-found']);
  }

  addressOf(service: string): Promise<string> {
    return eventually(
      `Service ${service} has an address`,
      () => this.field(`service/${service}`, '.status.loadBalancer.ingress[0].ip'),
      (found) => (found === '' ? 'it has none' : undefined),
    );
  }

  /** Waits until the router's table fits. */
  async routerHas(
    router: string,
    prefix: string,
    expected: Json,
    patience: Patience = {},
  ): Promise<RouterTable> {
    return await eventually(
      `${router} and ${prefix}`,
      () => this.lab.table(router, prefix),
      (found) => {
        const wrong = misfits(expected, found);
        return wrong.length === 0 ? undefined : wrong.join('; ');
      },
      patience,
    );
  }

  /** Ways to exactly these machines, as the routers name them. */
  paths(...machines: readonly string[]): Json {
    return { paths: machines.map((name) => ({ nextHop: uplinkOf(name) })) };
  }

  /** All three nodes announce it, both racks are ways to it, and the client is answered. */
  async everywhere(address: string): Promise<void> {
    const prefix = `${address}/32`;
    await this.routerHas('tor1', prefix, this.paths('n1', 'n2'));
    await this.routerHas('tor2', prefix, this.paths('n3'));
    await this.routerHas('spine', prefix, this.paths('tor1', 'tor2'));
    await this.answered(address, 100);
  }

  /** What the Service tells of itself: a condition of it has these words. */
  async saysOf(service: string, words: string): Promise<void> {
    await eventually(
      `Service ${service} says "${words}"`,
      () => this.field(`service/${service}`, '.status.conditions[*].message'),
      (found) => (found.includes(words) ? undefined : `it says: ${found}`),
    );
  }

  /** From this rack the only way is through the other one. */
  throughSpine(tor: string): Json {
    return { paths: [{ nextHop: spineFrom(tor) }] };
  }

  torOf(node: string): string {
    return torOf(node);
  }

  /** For what cannot be asked for: that nothing happens. */
  async passes(ms: number): Promise<void> {
    await delay(ms);
  }

  /** No probe was lost, and no connection was cut. */
  expectNone({ sent, lost, resets, reasons }: Outage): void {
    if (sent === 0) throw new Error('no probe was sent');
    if (lost + resets === 0) return;
    throw new Error(
      `of ${sent} probes ${lost} were lost and ${resets} cut: ${JSON.stringify(reasons)}`,
    );
  }

  /** No new connection was lost; those that were open when their way changed may have been cut. */
  expectNoneLost(outage: Outage): void {
    if (outage.lost > 0 || outage.sent === 0) this.expectNone(outage);
  }

  /**
   * Nothing but what is on its way while routers change over from one way to another: the handshake of a connection may begin at one node and end at another, and between racks FRR takes the old
   * way out before the new one is in.
   */
  expectBrief(outage: Outage): void {
    if (outage.outageMs > CHANGE_OVER_MS) this.expectNone(outage);
  }

  /** Everything that a node sends and gets is dropped, and nobody is told: its links stay up. */
  async cutOff(node: string): Promise<void> {
    await this.#nft(node, CUT);
  }

  async plugIn(node: string): Promise<void> {
    await this.#nft(node, 'add table inet silence\ndelete table inet silence\n');
  }

  async #nft(node: string, rules: string): Promise<void> {
    await this.lab.on(node, ['nft', '-f', '-'], rules);
  }

  async linkOf(machine: string, link: string, state: 'up' | 'down'): Promise<void> {
    // a cable that is pulled takes no address with it
    await this.lab.on(machine, ['sysctl', '-q', '-w', `net.ipv6.conf.${link}.keep_addr_on_down=1`]);
    await this.lab.on(machine, ['ip', 'link', 'set', link, state]);
  }

  /** On both sides: at the routers of the racks, and in the BGPPeers. Sessions are new after it, since they agree on it when they begin. */
  async gracefulRestart(isOn: boolean): Promise<void> {
    // FRR refuses what is so already
    if (this.#isGraceful === isOn) return;
    this.#isGraceful = isOn;
    const word = isOn ? 'graceful-restart-helper' : 'graceful-restart-disable';
    const spec = { gracefulRestart: isOn ? { restartSeconds: 30 } : null };
    for (const tor of ['tor1', 'tor2']) {
      await this.lab.configure(tor, [`neighbor herald-${tor} ${word}`]);
      await this.kubectl(['patch', 'bgppeer', tor, '--type=merge', '-p', JSON.stringify({ spec })]);
      await this.lab.ask(tor, 'clear bgp *');
    }
  }

  /** Waits until the client is answered so many times in a row. */
  async answered(address: string, times = 20): Promise<void> {
    const probing = await this.probe({ address, everyMs: 20, seconds: 120 });
    await eventually(
      `the client is answered by ${address}`,
      async () => probing.read().slice(-times),
      (last) => {
        const isGood = last.length === times && last.every(({ who }) => who !== undefined);
        return isGood ? undefined : `last outcome: ${JSON.stringify(last.at(-1))}`;
      },
    );
    await probing.stop();
  }

  async probe(wish: ProbeWish): Promise<Probing> {
    const probing = await Probing.start(this.lab.enter('client'), wish);
    this.later(() => probing.end());
    return probing;
  }
}
