/**
 * Keys of sessions, from Secrets and files, through the agent and its source on a clock and a network of their own: what a router with a key
 * hears when documents name another Secret, file or BGPPeer, and when nobody can say which key that is.
 */

import { expect } from 'chai';
import { formatPrefix, ipv4, MemoryNetwork, Speaker } from '../../../protocol/index.ts';
import { Agent } from '../../../src/agent/agent.ts';
import { formatSavedView, type SavedView } from '../../../src/agent/saved-view.ts';
import { FileTextError, NOT_READ_YET } from '../../../src/checks/file-texts.ts';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { AgentSource } from '../../../src/sources/kube/agent-source.ts';
import { ApiError, ApiUnreachable } from '../../../src/sources/kube/api.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_POOLS,
  NODES,
  SECRETS,
} from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { storedPeer, storedPool } from '../../support/stored-documents.ts';
import * as scenery from './scenery.ts';

const AGENT = ipv4('192.0.2.2');
const ROUTER = ipv4('192.0.2.1');
const VIP = '198.51.100.7';
const RANDOM = { next: () => 0.5 };
const KEY = 's3cret';
/** as --node-labels and the host name say; the API has none of them */
const OWN_LABELS = { rack: 'a', 'kubernetes.io/hostname': scenery.NODE };

const secret = (name: string, data: object) => ({
  metadata: { name, namespace: 'herald-system' },
  data,
});
const holding = (name: string, key: string) =>
  secret(name, { password: Buffer.from(key).toString('base64') });

const peer = (name: string, spec: object = { password: { secret: 'a' } }) => storedPeer(name, spec);

class World {
  readonly clock = new ManualClock();
  readonly api = new MemoryKubeApi();
  /** paths of key files; a code: that is what reading it says */
  readonly files = new Map<string, { readonly text: string } | { readonly code: string }>();
  readonly heard: string[] = [];
  readonly #network = new MemoryNetwork({ clock: this.clock, latencyMs: 1 });
  #saved: SavedView | undefined;
  #process = this.#made(undefined);

  get agent(): Agent {
    return this.#process.agent;
  }

  #made(saved: SavedView | undefined) {
    const { clock, api } = this;
    const isBack = saved !== undefined;
    const speaker = new Speaker({
      clock,
      random: RANDOM,
      transport: this.#network.host(AGENT),
      interfaceAddresses: () => undefined,
      restarting: isBack,
    });
    const save = (view: SavedView) => {
      this.#saved = JSON.parse(formatSavedView(view));
      return undefined;
    };
    const agent = new Agent({
      clock,
      random: RANDOM,
      speaker,
      listen: () => undefined,
      addresses: new MemoryAddressTable({ host: new MemoryHost(['lo']) }),
      probe: () => undefined,
      readPassword: (path) => this.#read(path),
      store: { load: () => saved, save },
      log: SILENT_LOG,
      node: { name: scenery.NODE, labels: OWN_LABELS },
      asn: 64_512,
      routerId: 7,
      isRouterIdFixed: true,
      joinCheck: 'none',
      maxStaleMs: 86_400_000,
      source: 'the API',
      sources: ['files', 'api'],
      cluster: { bootId: 'b', ignoresExcludeLabel: false },
      version: '0',
      pid: 1,
      isBack,
    });
    const random = new SeededRandom(7);
    const nodeName = scenery.NODE;
    const source = new AgentSource({ api, clock, random, log: SILENT_LOG, nodeName, agent });
    return { agent, source };
  }

  /** until the router has the route, by a session with the key of the Secret `a` */
  async start(): Promise<void> {
    const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
    this.api.put(NODES, { metadata: { name: scenery.NODE }, status: ready });
    this.api.put(IP_POOLS, storedPool('any'));
    this.api.put(SECRETS, holding('a', KEY));
    this.api.put(BGP_PEERS, peer('tor'));
    const labels = { [ANYCAST_LABEL]: '' };
    this.api.put(IP_CLAIMS, { metadata: { name: VIP, labels }, spec: { checks: [] } });
    await this.#startRouter();
    this.#begin();
    await this.pass(10_000);
    expect(this.heard.splice(0)).to.deep.equal(['up', `+${VIP}/32`]);
  }

  #begin(): void {
    this.#process.agent.start();
    this.#process.source.start();
  }

  stop(): void {
    this.#process.source.stop();
  }

  /** as for an upgrade; what the router hears of the end is forgotten */
  async restart(): Promise<void> {
    this.stop();
    let isOver = false;
    void this.agent.stopForRestart().then(() => {
      isOver = true;
    });
    while (!isOver) await this.pass(5);
    this.heard.splice(0);
    this.#process = this.#made(this.#saved);
    this.#begin();
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5) {
      this.clock.advance(5);
      for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate);
    }
  }

  /** `undefined`: they are answered again */
  failSecrets(error: Error | undefined, only?: string): void {
    this.api.fault =
      error &&
      (({ verb, resource, name }) => {
        const isMeant = only === undefined || name === only;
        return verb === 'get' && resource === SECRETS && isMeant
          ? { kind: 'before', error }
          : undefined;
      });
  }

  /** peers in files, beside what the API has */
  haveFiles(peers: readonly BgpPeer[]): void {
    const documents = scenery.documents({ peers, pools: [], claims: [] });
    this.agent.setDocuments(documents, 'files');
  }

  get refusals(): readonly (string | undefined)[] {
    return this.agent.status().sessions.map(({ refused }) => refused);
  }

  #read(path: string): string {
    const known = this.files.get(path) ?? { code: 'ENOENT' };
    if ('text' in known) return known.text;
    throw new FileTextError('it cannot be read', known.code);
  }

  async #startRouter(): Promise<void> {
    const router = new Speaker({
      clock: this.clock,
      random: RANDOM,
      transport: this.#network.host(ROUTER),
      interfaceAddresses: () => undefined,
      listen: { port: 179 },
    });
    router.subscribe((event) => {
      if (event.kind === 'established') this.heard.push('up');
      if (event.kind === 'down' && event.wasEstablished) this.heard.push('down');
      if (event.kind !== 'update-received') return;
      for (const each of event.update.nlri) this.heard.push(`+${formatPrefix(each)}`);
      for (const each of event.update.withdrawn) this.heard.push(`-${formatPrefix(each)}`);
    });
    await router.start();
    const settings = {
      name: 'n',
      address: AGENT,
      localAsn: 64_500,
      peerAsn: 64_512,
      routerId: 2,
      passive: true,
      password: KEY,
      inbound: { kind: 'keep' as const },
    };
    router.apply({ peers: [{ settings, routes: [] }] });
  }
}

describe('a session with a key', () => {
  let world: World;

  beforeEach(async () => {
    world = new World();
    await world.start();
  });
  afterEach(() => world.stop());

  const rename = async () => {
    world.api.put(BGP_PEERS, peer('spine'));
    await world.pass(1000);
    world.api.remove(BGP_PEERS, 'tor');
    await world.pass(5000);
  };
  const toSecret = (name: string, spec: object = {}) =>
    world.api.put(BGP_PEERS, peer('tor', { password: { secret: name }, ...spec }));
  const fromFile = (over: Partial<BgpPeer> = {}) =>
    scenery.peer({
      families: ['ipv4'],
      password: { kind: 'file', path: '/keys/tor' },
      ...over,
    });

  it('goes on when its BGPPeer gets another name', async () => {
    await rename();
    expect(world.heard).to.deep.equal([]);
    expect(world.agent.sessions.map(({ name }) => name)).to.deep.equal(['spine']);
  });

  it('goes on when its BGPPeer names another Secret with the same key', async () => {
    world.api.put(SECRETS, holding('b', KEY));
    toSecret('b');
    await world.pass(5000);
    expect(world.heard).to.deep.equal([]);
  });

  const failures: readonly (readonly [string, Error])[] = [
    ['429', new ApiError(429, 'TooManyRequests', 'busy')],
    ['403', new ApiError(403, 'Forbidden', 'no')],
    ['503', new ApiError(503, 'ServiceUnavailable', 'starting')],
    ['silence', new ApiUnreachable('away', undefined)],
  ];
  for (const [what, error] of failures) {
    it(`goes on when its BGPPeer names another Secret, whatever that holds, while it is answered by ${what}`, async () => {
      world.api.put(SECRETS, holding('b', KEY));
      world.failSecrets(error);
      toSecret('b');
      await world.pass(60_000);
      await rename();
      expect(world.heard).to.deep.equal([]);
      expect(world.agent.status().warnings.join('\n'), 'and people are told')
        .to.include('herald-system/a of BGPPeer spine')
        .and.include('goes on with the key that it has');
      world.failSecrets(undefined);
      await world.pass(15_000);
      expect(world.heard).to.deep.equal([]);
      expect(world.agent.status().warnings).to.deep.equal([]);
    });
  }

  it('takes another key as soon as that is read, and not before', async () => {
    world.api.put(SECRETS, holding('b', 'another'));
    world.failSecrets(new ApiError(429, 'TooManyRequests', 'busy'));
    toSecret('b');
    await world.pass(30_000);
    expect(world.heard).to.deep.equal([]);
    world.failSecrets(undefined);
    await world.pass(15_000);
    // the router has the old one
    expect(world.heard).to.deep.equal(['down']);
    world.api.put(SECRETS, holding('b', KEY));
    await world.pass(20_000);
    expect(world.heard).to.deep.equal(['down', 'up', `+${VIP}/32`]);
  });

  for (const [what, made] of [
    ['does not exist', undefined],
    ['has no key', secret('b', {})],
  ] as const) {
    it(`ends when its BGPPeer names a Secret that ${what}, and its key is forgotten`, async () => {
      if (made !== undefined) world.api.put(SECRETS, made);
      toSecret('b');
      await world.pass(5000);
      expect(world.heard).to.deep.equal(['down']);
      expect(world.refusals.join()).to.include('the Secret herald-system/b of BGPPeer tor');
      world.failSecrets(new ApiError(429, 'TooManyRequests', 'busy'));
      await world.pass(30_000);
      await rename();
      expect(world.heard).to.deep.equal(['down']);
    });
  }

  it('that has to be made anew waits for its key: what stood before is no guess at it', async () => {
    world.failSecrets(new ApiError(403, 'Forbidden', 'no'));
    world.api.put(SECRETS, holding('b', KEY));
    toSecret('b', { timers: { holdSeconds: 12, keepaliveSeconds: 4, connectRetrySeconds: 5 } });
    await world.pass(20_000);
    expect(world.heard).to.deep.equal(['down']);
    world.failSecrets(undefined);
    await world.pass(15_000);
    expect(world.heard).to.deep.equal(['down', 'up', `+${VIP}/32`]);
  });

  it('of another router gets no key of this one', async () => {
    world.failSecrets(new ApiError(403, 'Forbidden', 'no'));
    world.api.put(BGP_PEERS, peer('other', { address: '192.0.2.9', password: { secret: 'b' } }));
    await world.pass(5000);
    expect(world.refusals.join()).to.include('the Secret herald-system/b of BGPPeer other');
    expect(world.heard).to.deep.equal([]);
  });

  describe('comes up after a restart', () => {
    for (const [what, spec] of [
      ['a key in a file', { password: { file: '/etc/herald/key' } }],
      ['an AS that nobody may have', { password: { secret: 'a' }, asn: 23_456 }],
    ] as const) {
      it(`a BGPPeer whose edit is refused has its key after a restart: ${what}`, async () => {
        world.api.put(BGP_PEERS, peer('tor', spec));
        await world.pass(5000);
        expect(world.heard, 'its last good form stays').to.deep.equal([]);
        await world.restart();
        await world.pass(10_000);
        expect(world.heard).to.deep.equal(['up', `+${VIP}/32`]);
        world.api.remove(BGP_PEERS, 'tor');
        await world.pass(5000);
        world.api.calls.splice(0);
        await world.pass(90_000);
        const asked = world.api.calls.filter(({ resource }) => resource === SECRETS);
        expect(asked, 'a peer that is gone needs none').to.deep.equal([]);
      });
    }

    for (const [what, resource] of [
      ['IPPools', IP_POOLS],
      ['BGPPeers', BGP_PEERS],
      ['IPClaims', IP_CLAIMS],
      ['Nodes', NODES],
    ] as const) {
      it(`keys are asked for although another list fails: ${what}`, async () => {
        world.api.uninstall(resource);
        await world.restart();
        await world.pass(10_000);
        expect(world.heard).to.deep.equal(['up', `+${VIP}/32`]);
      });
    }

    it('beside another BGPPeer that is the same session, and was refused before', async () => {
      world.api.put(BGP_PEERS, peer('tor', { password: { secret: 'a' }, asn: 23_456 }));
      world.api.put(BGP_PEERS, peer('tor2'));
      await world.pass(5000);
      await world.restart();
      await world.pass(10_000);
      expect(world.heard).to.deep.equal(['up', `+${VIP}/32`]);
      expect(world.agent.sessions.map(({ name }) => name)).to.deep.equal(['tor']);
    });

    it('and another BGPPeer that is the same session does in a minute, where nobody can say its key', async () => {
      world.api.put(BGP_PEERS, peer('tor', { password: { secret: 'a' }, asn: 23_456 }));
      world.api.put(BGP_PEERS, peer('tor2', { password: { secret: 'b' } }));
      world.api.put(SECRETS, holding('b', KEY));
      await world.pass(5000);
      world.failSecrets(new ApiError(403, 'Forbidden', 'no'), 'a');
      await world.restart();
      await world.pass(50_000);
      expect(world.heard).to.deep.equal([]);
      await world.pass(20_000);
      expect(world.heard).to.deep.equal(['up', `+${VIP}/32`]);
      world.failSecrets(undefined);
      await world.pass(20_000);
      expect(world.heard, 'it goes on').to.deep.equal(['up', `+${VIP}/32`]);
      expect(world.agent.sessions.map(({ name }) => name)).to.deep.equal(['tor']);
    });

    for (const [what, isFirst] of [
      ['its own key first', true],
      ['both keys at once', false],
    ] as const) {
      it(`and keeps its session from another one that waited as long: ${what}`, async () => {
        const nodeSelector = { matchLabels: { rack: 'a' } };
        const error = new ApiError(503, 'ServiceUnavailable', 'no');
        world.api.put(SECRETS, holding('b', 'wrong'));
        world.api.put(BGP_PEERS, peer('tor2', { password: { secret: 'b' }, nodeSelector }));
        await world.pass(5000);
        expect(world.heard).to.deep.equal([]);
        world.failSecrets(error);
        await world.restart();
        await world.pass(150_000);
        expect(world.heard).to.deep.equal([]);
        if (isFirst) world.failSecrets(error, 'b');
        else world.failSecrets(undefined);
        await world.pass(30_000);
        world.failSecrets(undefined);
        await world.pass(60_000);
        expect(world.heard, 'once, for good').to.deep.equal(['up', `+${VIP}/32`]);
        expect(world.agent.sessions.map(({ name }) => name)).to.deep.equal(['tor']);
      });
    }
  });

  for (const [label, value] of Object.entries(OWN_LABELS)) {
    const nodeSelector = { matchLabels: { [label]: value } };

    it(`goes on, and gets its keys, where the agent alone knows that this node is selected: ${label}`, async () => {
      toSecret('a', { nodeSelector });
      await world.pass(15_000);
      expect(world.heard).to.deep.equal([]);
      expect(world.agent.status().warnings).to.deep.equal([]);
      world.api.put(SECRETS, secret('a', {}));
      await world.pass(80_000);
      expect(world.heard, 'the key is taken away').to.deep.equal(['down']);
      world.api.put(SECRETS, holding('a', KEY));
      await world.pass(20_000);
      expect(world.heard).to.deep.equal(['down', 'up', `+${VIP}/32`]);
    });
  }

  it('that leads to no router from here is asked for by nobody', async () => {
    const nodeSelector = { matchLabels: { rack: 'b' } };
    world.api.put(SECRETS, holding('b', KEY));
    world.api.put(
      BGP_PEERS,
      peer('other', { address: '192.0.2.9', password: { secret: 'b' }, nodeSelector }),
    );
    await world.pass(90_000);
    const asked = world.api.calls.filter(({ resource }) => resource === SECRETS);
    expect(asked.map(({ name }) => name))
      .to.include('a')
      .and.not.include('b');
  });

  for (const name of ['tor', 'of-a-file']) {
    it(`goes on when a BGPPeer ${name} in a file takes its place, before and when the key file is read`, async () => {
      world.files.set('/keys/tor', { code: NOT_READ_YET });
      world.haveFiles([fromFile({ name })]);
      world.api.remove(BGP_PEERS, 'tor');
      await world.pass(5000);
      expect(world.heard).to.deep.equal([]);
      world.files.set('/keys/tor', { text: `${KEY}\n` });
      world.agent.refreshPasswords();
      await world.pass(5000);
      expect(world.heard).to.deep.equal([]);
      world.files.set('/keys/new', { code: NOT_READ_YET });
      world.haveFiles([fromFile({ name, password: { kind: 'file', path: '/keys/new' } })]);
      await world.pass(500);
      world.files.set('/keys/new', { code: 'EACCES' });
      await world.pass(20_000);
      world.files.set('/keys/new', { text: KEY });
      await world.pass(10_000);
      expect(world.heard, 'another path').to.deep.equal([]);
      world.haveFiles([fromFile({ name, password: { kind: 'file', path: '/keys/none' } })]);
      await world.pass(1000);
      expect(world.heard, 'there is no such file').to.deep.equal(['down']);
    });
  }
});
