/**
 * One node and one router in namespaces: `herald agent` as a process of its own against a real BIRD. Documents are files, the
 * truth is BIRD's table, the kernel's addresses and the wire; the control socket is asked only for the sentences.
 */

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentStatus } from '../../../src/agent/status.ts';
import { ControlClient } from '../../../src/control/client.ts';
import { createRouter } from '../../interop/routers/create.ts';
import type { Neighbour, Route, Router } from '../../interop/routers/router.ts';
import { documentText } from '../../support/document.ts';
import { createLab, type Host, type Lab } from '../../support/netns.ts';
import { done, notYet, until, untilValue } from '../../support/poll.ts';
import type { Running, SpawnOptions } from '../../support/process.ts';
import { heraldProgram } from '../support/herald-program.ts';

export const NODE_ADDRESS = '10.50.0.2';
export const ROUTER_ADDRESS = '10.50.0.1';
export const NODE_ASN = 64512;
export const ROUTER_ASN = 64500;
/** no session comes back this fast */
export const SAME_SESSION_MS = 20;

export const peer = (changes: object = {}) =>
  documentText('BGPPeer', 'tor', {
    address: ROUTER_ADDRESS,
    asn: ROUTER_ASN,
    localASN: NODE_ASN,
    families: ['ipv4'],
    timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 1 },
    ...changes,
  });
export const pool = (changes: object = {}) =>
  documentText('IPPool', 'vips', {
    addresses: ['198.51.100.0/24'],
    drain: { waitSeconds: 0 },
    ...changes,
  });
export const claim = (address: string, spec: object = {}) => documentText('IPClaim', address, spec);

export class AgentLab {
  readonly lab: Lab;
  readonly router: Router = createRouter('bird');
  readonly #hosts: { readonly routerHost: Host; readonly node: Host };
  readonly device: string;
  readonly routerDevice: string;
  #starts = 0;
  #agent: Running | undefined;

  private constructor(
    lab: Lab,
    hosts: { routerHost: Host; node: Host },
    devices: readonly [string, string],
  ) {
    this.lab = lab;
    this.#hosts = hosts;
    [this.routerDevice, this.device] = devices;
  }

  static async create(label: string): Promise<AgentLab> {
    const lab = createLab(label);
    const routerHost = await lab.host('router', { forward: true });
    const node = await lab.host('node', { forward: false });
    const addresses = { a: [`${ROUTER_ADDRESS}/24`], b: [`${NODE_ADDRESS}/24`] };
    const link = await lab.link(routerHost, node, addresses);
    const made = new AgentLab(lab, { routerHost, node }, [link.a.name, link.b.name]);
    await made.startRouter();
    return made;
  }

  get node(): Host {
    return this.#hosts.node;
  }

  get routerHost(): Host {
    return this.#hosts.routerHost;
  }

  get agent(): Running {
    if (this.#agent === undefined) throw new Error('no agent was started');
    return this.#agent;
  }

  get documents(): string {
    return join(this.node.folder, 'documents');
  }

  get socket(): string {
    return join(this.node.folder, 'agent.sock');
  }

  get state(): string {
    return join(this.node.folder, 'state');
  }

  /** what the join check looks for */
  get readyFile(): string {
    return join(this.node.folder, 'ready');
  }

  async startRouter(changes: Partial<Neighbour> = {}): Promise<void> {
    await this.router.start(this.routerHost, {
      localAsn: ROUTER_ASN,
      routerId: ROUTER_ADDRESS,
      neighbours: [
        {
          address: NODE_ADDRESS,
          asn: NODE_ASN,
          families: ['ipv4'],
          localAddress: ROUTER_ADDRESS,
          isPassive: true,
          holdTimeSeconds: 9,
          ...changes,
        },
      ],
    });
  }

  /** All documents anew; written as an editor does, by renaming. */
  write(files: Readonly<Record<string, readonly string[]>>): void {
    mkdirSync(this.documents, { recursive: true });
    for (const [file, documents] of Object.entries(files)) {
      const temporary = join(this.node.folder, `.${file}`);
      writeFileSync(temporary, documents.join('\n---\n'));
      renameSync(temporary, join(this.documents, file));
    }
  }

  remove(file: string): void {
    rmSync(join(this.documents, file));
  }

  ready(isReady: boolean): void {
    if (isReady) writeFileSync(this.readyFile, '');
    else rmSync(this.readyFile, { force: true });
  }

  /** the arguments of `herald` for an agent of this lab */
  arguments(flags: readonly string[] = []): readonly string[] {
    const own = [
      ['--source', `files:${this.documents}`],
      ['--node-name', 'm1'],
      ['--state-dir', this.state],
      ['--socket', this.socket],
      ['--join-check', `file:${this.readyFile}`],
      ['--join-interval', '0.1'],
      ['--join-successes', '2'],
      ['--join-failures', '2'],
    ].flat();
    return ['agent', ...own, ...flags];
  }

  start(flags: readonly string[] = [], options: SpawnOptions = {}): Running {
    this.#starts += 1;
    const args = this.arguments(flags);
    this.#agent = this.node.spawn(`agent-${this.#starts}`, heraldProgram(), args, options);
    return this.#agent;
  }

  /** An agent with these documents, until the router has these addresses; since when it has the session. */
  async startAnnouncing(
    addresses: readonly string[],
    ...others: readonly string[]
  ): Promise<number> {
    this.write({ 'all.yaml': [...others, ...addresses.map((address) => claim(address))] });
    this.ready(true);
    this.start();
    await this.announces(addresses);
    return await this.upSince();
  }

  async status(): Promise<AgentStatus> {
    const asked = await new ControlClient(this.socket).status();
    if (!asked.ok) throw new Error(`${asked.sentence}\n${this.agent.log()}`);
    return asked.value;
  }

  control(): ControlClient {
    return new ControlClient(this.socket);
  }

  routes(): Promise<readonly Route[]> {
    return this.router.routes('ipv4');
  }

  /** BIRD's table holds exactly these addresses. */
  async announces(addresses: readonly string[], timeoutMs = 30_000): Promise<readonly Route[]> {
    const wanted = addresses.map((address) => `${address}/32`).toSorted();
    return await untilValue(
      // what the agent said is for whoever reads the failure
      `the router has ${wanted.join(', ') || 'nothing'}`,
      () => this.routes(),
      (routes) =>
        JSON.stringify(routes.map(({ prefix }) => prefix).toSorted()) === JSON.stringify(wanted),
      { timeoutMs, everyMs: 20 },
    );
  }

  async established(timeoutMs = 30_000): Promise<void> {
    await until(
      'the session is up',
      async () => {
        const sessions = await this.router.sessions();
        const isUp = sessions.some(({ state }) => state === 'established');
        return isUp ? done(true) : notYet([sessions, this.agent.log().slice(-2000)]);
      },
      { timeoutMs },
    );
  }

  /**
   * BIRD's own word on since when the session has been up, in milliseconds. It works the moment out anew each time it is asked,
   * so two answers about one session may differ by one: compare with `SAME_SESSION_MS`.
   */
  async upSince(): Promise<number> {
    const [session] = await this.router.sessions();
    const since = Date.parse(session?.since?.replace(' ', 'T') ?? '');
    if (session?.state !== 'established' || Number.isNaN(since)) {
      throw new Error(`no session: ${JSON.stringify(session)}`);
    }
    return since;
  }

  /** addresses on an interface of the node, without masks */
  async addressesOn(device: string): Promise<readonly string[]> {
    const { stdout } = await this.node.exec('ip', ['-j', 'address', 'show', 'dev', device]);
    const links: readonly { readonly addr_info?: readonly { readonly local?: string }[] }[] =
      JSON.parse(stdout);
    return links.flatMap(({ addr_info = [] }) => addr_info.flatMap(({ local }) => local ?? []));
  }

  async holds(device: string, address: string, timeoutMs = 30_000): Promise<void> {
    const read = () => this.addressesOn(device);
    await untilValue(`${address} on ${device}`, read, (all) => all.includes(address), {
      timeoutMs,
      everyMs: 10,
    });
  }

  async holdsNot(device: string, address: string, timeoutMs = 30_000): Promise<void> {
    const read = () => this.addressesOn(device);
    await untilValue(`${address} off ${device}`, read, (all) => !all.includes(address), {
      timeoutMs,
      everyMs: 10,
    });
  }

  /** everything of the last test but the router */
  async reset(): Promise<void> {
    await this.#agent?.kill();
    for (const path of [this.documents, this.state, this.readyFile, this.socket]) {
      rmSync(path, { recursive: true, force: true });
    }
    await this.node.exec('ip', ['address', 'flush', 'dev', 'lo', 'to', '198.51.100.0/24'], {
      anyStatus: true,
    });
    await this.announces([]);
    // an agent without routes leaves none behind that would tell when the router has noticed its end
    await untilValue(
      'the session is over',
      () => this.router.sessions(),
      (sessions) => sessions.every(({ state }) => state !== 'established'),
    );
  }

  destroy(): Promise<void> {
    return this.lab.destroy();
  }
}
