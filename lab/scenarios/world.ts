/**
 * What a scenario can do: speak to the cluster as a person with kubectl, look into the routers, be a client outside. A namespace of its own,
 * and everything that it made is taken away when it ends, however it ends.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NAMESPACE } from '../../src/model/names.ts';
import { type RunOptions, run } from '../runner/machine.ts';
import { Holding, type HoldWish, type ProbeWish, Probing } from './client.ts';
import { disagreeing, setHelper } from './graceful-restart.ts';
import type { Lab } from './lab.ts';
import { type Json, misfits } from './partial.ts';
import { spineFrom, torOf, uplinkOf } from './places.ts';
import { eventually, type Patience } from './poll.ts';
import type { RouterTable } from './router-tables.ts';
import { TableWatch } from './table-watch.ts';

const KUBECTL_MS = 120_000;

/** What an object says of itself. */
export interface Condition {
  readonly status: string;
  readonly reason: string;
  /** words of its message */
  readonly says: string;
}

const CUT = `table inet silence {
  chain in { type filter hook prerouting priority -400; iifname "eth1" drop; }
  chain out { type filter hook postrouting priority 400; oifname "eth1" drop; }
}
`;

export interface WorldOptions {
  readonly say: (line: string) => void;
  /** the story is broken off at its next step */
  readonly signal: AbortSignal;
}

export class World {
  readonly lab: Lab;
  readonly namespace: string;
  readonly #folder: string;
  readonly #say: (line: string) => void;
  readonly #ends: (() => Promise<unknown>)[] = [];
  readonly #reached = new Set<string>();
  readonly #signal: AbortSignal;
  #isGraceful = false;
  #isEnding = false;

  constructor(lab: Lab, name: string, { say, signal }: WorldOptions) {
    this.lab = lab;
    this.namespace = `lab-${name}`;
    this.#folder = join(import.meta.dirname, name);
    this.#say = say;
    this.#signal = signal;
  }

  async begin(): Promise<void> {
    this.later(() => this.kubectl(['delete', 'namespace', this.namespace, '--ignore-not-found']));
    await this.kubectl(['create', 'namespace', this.namespace]);
  }

  /** The last thing that was begun ends first; what cannot be taken away is told, and the rest is. */
  async end(): Promise<readonly string[]> {
    this.#isEnding = true;
    const problems: string[] = [];
    for (const end of this.#ends.splice(0).reverse()) {
      await end().catch((error: unknown) => problems.push(String(error)));
    }
    return problems;
  }

  /** What a person would look at first when a story goes wrong. */
  async evidence(): Promise<string> {
    if (this.#signal.aborted) return '';
    const questions = [
      ['get', 'pods,services', '-A', '-o', 'wide'],
      ['get', 'ipclaims,ipnodes,bgppeers,ippools'],
      ['-n', NAMESPACE, 'logs', '-l', 'app.kubernetes.io/component=agent', '--tail=15', '--prefix'],
    ];
    const answers = questions.map((each) => this.kubectl(each).catch(String));
    return (await Promise.all(answers)).join('\n');
  }

  /** Also throws in a story that was broken off and wakes up while it is being taken away: nobody would come to this one. */
  later(end: () => Promise<unknown>): void {
    this.#signal.throwIfAborted();
    this.#ends.push(end);
  }

  say(line: string): void {
    this.#say(line);
  }

  /** A story that is broken off does nothing more, but to take away what it made. */
  #mayGoOn(): void {
    if (!this.#isEnding) this.#signal.throwIfAborted();
  }

  /** as the user of the kubeconfig, in the namespace of the scenario unless `args` name another */
  async kubectl(args: readonly string[], options: RunOptions = {}): Promise<string> {
    this.#mayGoOn();
    const { kubectl, kubeconfig } = this.lab;
    const call = [kubectl, '--kubeconfig', kubeconfig, '-n', this.namespace, ...args];
    return (await run(call, { timeoutMs: KUBECTL_MS, ...options })).stdout;
  }

  /** Herald, as it was applied from this folder; its objects name their namespaces themselves. */
  async removeHerald(folder = this.lab.deployFolder): Promise<void> {
    this.#mayGoOn();
    const { kubectl, kubeconfig } = this.lab;
    const call = [
      kubectl,
      '--kubeconfig',
      kubeconfig,
      'delete',
      '-k',
      folder,
      '--ignore-not-found',
    ];
    await run(call, { timeoutMs: 150_000 });
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
      () => {
        this.#mayGoOn();
        return this.lab.table(router, prefix);
      },
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

  /** Waits until an object's condition of this type is so. */
  async conditionIs(object: string, type: string, expected: Condition): Promise<void> {
    const one = `.status.conditions[?(@.type=="${type}")]`;
    const parts = '{.status}{"\\t"}{.reason}{"\\t"}{.message}';
    await eventually(
      `${object} says ${type}: ${expected.status}, ${expected.reason}`,
      () => this.kubectl(['get', object, '-o', `jsonpath={range ${one}}${parts}{end}`]),
      (found) => {
        const [status, reason, message = ''] = found.split('\t');
        const isIt = status === expected.status && reason === expected.reason;
        return isIt && message.includes(expected.says) ? undefined : `it says: ${found}`;
      },
    );
  }

  /** The node of each pod of the story's Deployment. */
  async nodesOfPods(): Promise<ReadonlyMap<string, string>> {
    const path = '{range .items[*]}{.metadata.name} {.spec.nodeName}{"\\n"}{end}';
    const text = await this.kubectl(['get', 'pods', '-l', 'app=web', '-o', `jsonpath=${path}`]);
    const lines = text.split('\n').filter((line) => line !== '');
    return new Map(
      lines.map((line) => {
        const [pod = '', node = ''] = line.split(' ');
        return [pod, node] as const;
      }),
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
    this.#mayGoOn();
    await delay(ms, undefined, { signal: this.#signal });
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
    const spec = { gracefulRestart: isOn ? { restartSeconds: 30 } : null };
    for (const tor of ['tor1', 'tor2']) {
      await setHelper(this.lab, tor, isOn);
      await this.kubectl(['patch', 'bgppeer', tor, '--type=merge', '-p', JSON.stringify({ spec })]);
      await this.lab.ask(tor, 'clear bgp *');
    }
  }

  /** In the routers' own words: sessions with all nodes are up, and with graceful restart or without. */
  async agreedOnGracefulRestart(isOn: boolean): Promise<void> {
    for (const tor of ['tor1', 'tor2']) {
      await eventually(
        `${tor} and its nodes agree that graceful restart is ${isOn ? 'on' : 'off'}`,
        () => {
          this.#mayGoOn();
          return disagreeing(this.lab, tor, isOn);
        },
        (nodes) => (nodes.length === 0 ? undefined : `not with ${nodes.join(', ')}`),
        { withinMs: 90_000, everyMs: 500 },
      );
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
    this.#mayGoOn();
    this.#reach(wish.address);
    const probing = new Probing(this.lab.enter('client'), wish);
    this.later(() => probing.end());
    await probing.isUnderWay();
    return probing;
  }

  /** The next story may get the same address. */
  #reach(address: string): void {
    if (this.#reached.has(address)) return;
    this.#reached.add(address);
    this.later(() => this.lab.forgetConnections(address));
  }

  /** Connections that are open, and answered, from now on. */
  async hold(wish: HoldWish): Promise<Holding> {
    this.#mayGoOn();
    this.#reach(wish.address);
    const holding = new Holding(this.lab.enter('client'), wish);
    this.later(() => holding.end());
    await holding.isUnderWay();
    return holding;
  }

  /** Looks into these routers until it is stopped. */
  watch(routers: readonly string[], prefix: string): TableWatch {
    const watch = new TableWatch(this.lab, routers, prefix);
    this.later(() => watch.stop());
    return watch;
  }
}
