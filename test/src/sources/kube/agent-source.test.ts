import { expect } from 'chai';
import type { PasswordFact } from '../../../../src/agent/view.ts';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import type { ClusterNode } from '../../../../src/model/cluster-node.ts';
import { type Documents, NO_DOCUMENTS } from '../../../../src/model/documents.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../../src/model/names.ts';
import { AgentSource, type ClusterListener } from '../../../../src/sources/kube/agent-source.ts';
import { ApiError, ApiUnreachable } from '../../../../src/sources/kube/api.ts';
import { convertPeerObject } from '../../../../src/sources/kube/convert-documents.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_POOLS,
  NODES,
  SECRETS,
} from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { storedPeer as peer, storedPool as pool } from '../../../support/stored-documents.ts';

const VIP = '198.51.100.7';

class Listener implements ClusterListener {
  documents: Documents | undefined;
  told = 0;
  nodes: (ClusterNode | undefined)[] = [];
  secrets: ReadonlyMap<string, PasswordFact> = new Map();
  observed = 0n;
  sessions: { name: string; state: string }[] = [];
  silence: { readonly nowMs: number } | undefined;
  /** by what came with the documents */
  silentSince: { readonly nowMs: number } | undefined;
  /** peers of which a key, or the lack of one, was told before their documents */
  keysBefore: readonly string[] = [];

  setDocuments(documents: Documents, _: 'api', silentSince?: { readonly nowMs: number }): void {
    this.documents = documents;
    this.silentSince = silentSince;
    this.keysBefore = [...this.secrets.keys()];
    this.told += 1;
  }

  setNodeFacts(node: ClusterNode | undefined): void {
    this.nodes.push(node);
  }

  setSecrets(facts: ReadonlyMap<string, PasswordFact>): void {
    this.secrets = facts;
  }

  setObservedClaims(resourceVersion: bigint): void {
    this.observed = resourceVersion;
  }

  setApiSilence(since: { readonly nowMs: number } | undefined): void {
    this.silence = since;
  }
}

/** lets promises of the in-memory API come to their end; time moves only where a test says so */
async function settle(clock: ManualClock, ms = 25): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    clock.advance(ms / 20);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const claim = (name: string, labels: object = { [ANYCAST_LABEL]: '' }, spec: object = {}) => ({
  metadata: { name, labels },
  spec: { checks: [], ...spec },
});

describe('the cluster as a source', () => {
  let api: MemoryKubeApi;
  let clock: ManualClock;
  let agent: Listener;
  let source: AgentSource;

  beforeEach(() => {
    api = new MemoryKubeApi();
    clock = new ManualClock();
    agent = new Listener();
    source = new AgentSource({
      api,
      clock,
      random: new SeededRandom(7),
      log: SILENT_LOG,
      nodeName: 'n1',
      agent,
    });
    api.put(NODES, { metadata: { name: 'n1' } });
    api.put(IP_POOLS, pool('any'));
    api.put(BGP_PEERS, peer('tor'));
  });
  afterEach(() => {
    source.stop();
    expect(clock.pendingTimers).to.equal(0);
  });

  const names = () => agent.documents?.claims.map(({ object }) => object.name).toSorted();

  it('says nothing before everything has been listed, then all at once', async () => {
    api.put(IP_CLAIMS, claim(VIP));
    api.uninstall(BGP_PEERS);
    source.start();
    await settle(clock, 500);
    expect(agent.told).to.equal(0);
    expect(agent.nodes).to.deep.equal([]);
    api.install(BGP_PEERS);
    await settle(clock, 60_000);
    expect(agent.told).to.equal(1);
    expect(names()).to.deep.equal([VIP]);
    expect(agent.documents?.claims[0]).to.include({ source: 'api' });
    expect(agent.nodes.map((node) => node?.name)).to.deep.equal(['n1']);
  });

  it('tells of claims alone where another list fails, and of what changes there, until it has all', async () => {
    const other = '198.51.100.8';
    api.put(IP_CLAIMS, claim(VIP));
    api.put(IP_CLAIMS, claim(other));
    api.uninstall(BGP_PEERS);
    source.start();
    const pass = async (seconds: number) => {
      for (let turn = 0; turn < seconds; turn += 1) await settle(clock, 1000);
    };
    await pass(9);
    expect(agent.told, 'a start takes some time').to.equal(0);
    await pass(21);
    expect(agent.told, 'once').to.equal(1);
    expect(agent.documents).to.include({ isOfClaimsAlone: true });
    expect(names()).to.deep.equal([VIP, other]);
    api.remove(IP_CLAIMS, other);
    await pass(11);
    expect(names()).to.deep.equal([VIP]);
    expect(agent.observed, 'nobody answers for it').to.equal(0n);
    expect(agent.nodes.map((node) => node?.name)).to.deep.equal(['n1']);
    api.remove(NODES, 'n1');
    await pass(1);
    expect(agent.nodes, 'at once from then on').to.have.length(2);
    api.install(BGP_PEERS);
    await pass(60);
    expect(agent.documents).to.not.have.property('isOfClaimsAlone');
    expect(agent.documents?.pools).to.have.length(1);
    expect(agent.told).to.equal(3);
  });

  it('tells of claims of this node and of all nodes, and of no others', async () => {
    api.put(IP_CLAIMS, claim('198.51.100.1', { [nodeLabel('n1')]: '0' }));
    api.put(IP_CLAIMS, claim('198.51.100.2', { [nodeLabel('n2')]: '0' }));
    api.put(IP_CLAIMS, claim('198.51.100.3', {}));
    api.put(IP_CLAIMS, claim('198.51.100.4'));
    source.start();
    await settle(clock);
    expect(names()).to.deep.equal(['198.51.100.1', '198.51.100.4']);
  });

  it('lists claims for a proof only while somebody waits: a straight placement costs no list (F13)', async () => {
    const lists = () =>
      api.calls.filter(({ verb, resource }) => verb === 'list' && resource === IP_CLAIMS).length;
    api.put(IP_CLAIMS, claim('198.51.100.1'));
    source.start();
    await settle(clock, 500);
    const before = lists();
    for (let index = 2; index < 30; index += 1) {
      api.put(IP_CLAIMS, claim(`198.51.100.${index}`, { [nodeLabel('n1')]: '0' }));
      await settle(clock, 2000);
    }
    expect(names()).to.have.length(29);
    expect(lists() - before, 'placed here straight').to.equal(0);
    const leaves = { [nodeLabel('n1')]: '2', [nodeLabel('n2')]: '0' };
    const { metadata } = api.put(IP_CLAIMS, claim('198.51.100.2', leaves));
    await settle(clock, 2000);
    expect(lists() - before, 'stepped down').to.equal(1);
    expect(agent.observed).to.equal(BigInt(metadata.resourceVersion));
    const alone = api.put(IP_CLAIMS, claim('198.51.100.2', { [nodeLabel('n1')]: '0' }));
    await settle(clock, 2000);
    expect(lists() - before, 'and is its holder again').to.equal(1);
    expect(source.awaitClaims(['198.51.100.2']), 'refused here: the answer is waited for').to.equal(
      true,
    );
    await settle(clock, 2000);
    expect(lists() - before).to.equal(2);
    expect(agent.observed).to.equal(BigInt(alone.metadata.resourceVersion));
    expect(source.awaitClaims(['198.51.100.2'])).to.equal(false);
  });

  it('keeps every object that has not changed, and is told of a burst once', async () => {
    for (let index = 1; index < 100; index += 1) api.put(IP_CLAIMS, claim(`198.51.100.${index}`));
    source.start();
    await settle(clock);
    const before = agent.documents;
    const { told } = agent;
    for (let index = 100; index < 200; index += 1) api.put(IP_CLAIMS, claim(`198.51.100.${index}`));
    await settle(clock);
    expect(agent.told - told).to.be.within(1, 3);
    expect(agent.documents?.claims).to.have.length(199);
    const known = new Set(agent.documents?.claims);
    expect(before?.claims.every((each) => known.has(each))).to.equal(true);
    expect(agent.documents?.pools).to.equal(before?.pools);
    // a status, or whatever else is none of the agent's business
    api.put(IP_CLAIMS, { ...claim('198.51.100.1'), status: { phase: 'Placed' } });
    const last = agent.documents;
    await settle(clock);
    expect(agent.documents).to.equal(last);
    expect(agent.observed).to.equal(BigInt(api.version));
  });

  describe('of pools that overlap (C19)', () => {
    const ready = (name: string, addresses: readonly string[], status: string) => {
      const conditions = [
        { type: 'Ready', status, reason: 'x', message: '', observedGeneration: 1 },
      ];
      return { ...pool(name, addresses), status: { conditions } };
    };
    const inForce = () =>
      agent.documents?.pools.map(({ object }) => `${object.name} ${object.ranges[0]?.text}`);
    const refused = () =>
      agent.documents?.faults.map(({ subject, keepsLastGood }) => `${subject} ${keepsLastGood}`);

    it('has the first in force and not the second, whatever the order in which it sees them', async () => {
      api.put(IP_POOLS, pool('beside', ['198.51.100.4/30', '203.0.113.0/24']));
      source.start();
      await settle(clock);
      expect(inForce()).to.deep.equal(['any 198.51.100.0/24']);
      expect(refused()).to.deep.equal(['IPPool/beside false']);
      expect(agent.documents?.conflicting?.map(({ object }) => object.name)).to.deep.equal([
        'beside',
      ]);
      api.remove(IP_POOLS, 'any');
      await settle(clock);
      expect(inForce()).to.deep.equal(['beside 198.51.100.4/30']);
      expect(refused()).to.deep.equal([]);
    });

    it('goes by the condition Ready where the controller has come to another answer', async () => {
      api.put(IP_POOLS, ready('any', ['198.51.100.0/24'], 'False'));
      api.put(IP_POOLS, ready('beside', ['198.51.100.4/30'], 'True'));
      source.start();
      await settle(clock);
      expect(inForce()).to.deep.equal(['beside 198.51.100.4/30']);
      // it has had it in force since, and the word comes that it should not have: no last good form
      api.put(IP_POOLS, ready('beside', ['198.51.100.4/30'], 'False'));
      api.put(IP_POOLS, ready('any', ['198.51.100.0/24'], 'True'));
      await settle(clock, 500);
      expect(inForce()).to.deep.equal(['any 198.51.100.0/24']);
      expect(refused()).to.deep.equal(['IPPool/beside false']);
    });

    it('tells nothing where a status says nothing new', async () => {
      source.start();
      await settle(clock);
      const { told } = agent;
      api.put(IP_POOLS, ready('any', ['198.51.100.0/24'], 'True'));
      await settle(clock, 500);
      expect(agent.told).to.equal(told);
    });
  });

  it('lets a claim go only when it is known to be gone', async () => {
    api.put(IP_CLAIMS, claim(VIP));
    source.start();
    await settle(clock);
    api.fault = ({ verb }) =>
      verb === 'get' ? { kind: 'before', error: new ApiUnreachable('away', undefined) } : undefined;
    api.remove(IP_CLAIMS, VIP);
    await settle(clock, 3000);
    expect(names()).to.deep.equal([VIP]);
    api.fault = undefined;
    await settle(clock, 60_000);
    expect(names()).to.deep.equal([]);
  });

  it('refuses a bad object and keeps its last good form, and the others', async () => {
    api.put(IP_CLAIMS, claim(VIP));
    source.start();
    await settle(clock);
    api.put(IP_CLAIMS, claim(VIP, undefined, { checks: [{ exec: { command: ['x'] } }] }));
    api.put(IP_CLAIMS, claim('198.51.100.8', undefined, { checks: 'nonsense' }));
    await settle(clock);
    expect(names()).to.deep.equal([VIP]);
    const faults = agent.documents?.faults.map(({ subject, keepsLastGood }) => [
      subject,
      keepsLastGood,
    ]);
    expect(faults).to.deep.equal([
      [`IPClaim/${VIP}`, true],
      ['IPClaim/198.51.100.8', false],
    ]);
    api.put(IP_CLAIMS, claim(VIP));
    api.remove(IP_CLAIMS, '198.51.100.8');
    await settle(clock, 1000);
    expect(agent.documents?.faults).to.deep.equal([]);
  });

  it('takes what can be read of a refused claim into its last good form: who holds it, and that it is withdrawn (C14)', async () => {
    const checks = [{ exec: { command: ['x'] } }];
    api.put(IP_CLAIMS, claim(VIP, { [nodeLabel('n1')]: '0' }, { node: 'n1' }));
    source.start();
    await settle(clock);
    api.put(IP_CLAIMS, claim(VIP, { [nodeLabel('n1')]: '2' }, { node: 'n2', checks }));
    await settle(clock);
    const stands = () => agent.documents?.claims[0]?.object;
    expect(stands()).to.deep.include({ node: 'n2', checks: [] });
    expect(stands()?.labels).to.deep.equal({ [nodeLabel('n1')]: '2' });
    const withdrawn = { reason: 'Released: Service a/b has given it back' };
    api.put(IP_CLAIMS, claim(VIP, { [nodeLabel('n1')]: '2' }, { checks, withdrawn }));
    await settle(clock);
    expect(stands()?.withdrawn).to.deep.equal(withdrawn);
    expect(agent.documents?.faults).to.have.length(1);
    // without words of a kind that this release knows it is withdrawn all the same
    api.put(IP_CLAIMS, claim(VIP, { [nodeLabel('n1')]: '2' }, { checks, withdrawn: { why: 1 } }));
    await settle(clock);
    expect(stands()?.withdrawn?.reason).to.be.a('string');
    expect(agent.documents?.cores?.get(VIP)?.name).to.equal(VIP);
  });

  it('tells what can be read of a refused claim without a good form when it changes, and only then', async () => {
    const checks = [{ exec: { command: ['x'] } }];
    api.put(IP_CLAIMS, claim(VIP, { [nodeLabel('n1')]: '0' }, { checks }));
    source.start();
    await settle(clock);
    const { told } = agent;
    const touched = claim(VIP, { [nodeLabel('n1')]: '0' }, { checks });
    api.put(IP_CLAIMS, { ...touched, metadata: { ...touched.metadata, annotations: { a: 'b' } } });
    await settle(clock);
    expect(agent.told).to.equal(told);
    const withdrawn = { reason: 'Released: Service a/b has given it back' };
    api.put(IP_CLAIMS, claim(VIP, { [nodeLabel('n1')]: '0' }, { checks, withdrawn }));
    await settle(clock);
    expect(agent.told).to.equal(told + 1);
    expect(agent.documents?.cores?.get(VIP)?.withdrawn).to.deep.equal(withdrawn);
  });

  describe('of two peers that are one session', () => {
    const inForce = () => agent.documents?.peers.map(({ object }) => object.name);
    const refused = () => agent.documents?.faults.map(({ subject }) => subject);
    const said = (name: string, reason: string, observedGeneration = 1) => {
      const condition = { type: 'SessionsUp', status: 'False', reason, message: '' };
      return { ...peer(name), status: { conditions: [{ ...condition, observedGeneration }] } };
    };

    it('keeps the first', async () => {
      source.start();
      await settle(clock);
      api.put(BGP_PEERS, peer('aaa'));
      await settle(clock);
      expect(inForce()).to.deep.equal(['tor']);
      expect(refused()).to.deep.equal(['BGPPeer/aaa']);
    });

    it('keeps the one that has the session when it is edited, beside an older one', async () => {
      const elsewhere = peer('tor', { address: '192.0.2.9' });
      api.put(BGP_PEERS, elsewhere);
      api.put(BGP_PEERS, peer('younger'));
      source.start();
      await settle(clock);
      api.put(BGP_PEERS, peer('tor'));
      await settle(clock, 500);
      expect(inForce()).to.deep.equal(['younger']);
      api.put(BGP_PEERS, peer('younger', { maxRoutes: 7 }));
      await settle(clock, 500);
      expect(inForce()).to.deep.equal(['younger']);
      expect(agent.documents?.peers[0]?.object.maxRoutes).to.equal(7);
      api.remove(BGP_PEERS, 'younger');
      await settle(clock, 500);
      expect(inForce()).to.deep.equal(['tor']);
    });

    it('goes by the condition SessionsUp of this generation after a start', async () => {
      api.put(BGP_PEERS, said('tor', 'SameSession'));
      api.put(BGP_PEERS, peer('younger'));
      source.start();
      await settle(clock);
      expect(inForce(), 'refused before').to.deep.equal(['younger']);
    });

    for (const [reason, generation, names] of [
      ['NoneEstablished', 1, ['younger']],
      ['NoneEstablished', 0, ['tor']],
      ['SameSession', 1, ['tor']],
    ] as const) {
      it(`has ${names} where the younger one is said to be ${reason}, of generation ${generation}`, async () => {
        api.put(BGP_PEERS, said('younger', reason, generation));
        source.start();
        await settle(clock);
        expect(inForce()).to.deep.equal(names);
      });
    }

    it('goes by the saved View before any condition', async () => {
      const converted = convertPeerObject(api.put(BGP_PEERS, said('younger', 'SameSession')));
      if (!converted.ok) throw new Error(converted.sentence);
      const saved = {
        object: converted.object,
        origin: 'API',
        createdMs: 0,
        source: 'api',
      } as const;
      agent.documents = { ...NO_DOCUMENTS, peers: [saved] };
      api.put(BGP_PEERS, said('tor', 'AllEstablished'));
      source.start();
      await settle(clock);
      expect(inForce()).to.deep.equal(['younger']);
      expect(refused()).to.deep.equal(['BGPPeer/tor']);
    });
  });

  it('tells of its Node once per change that matters, and that it is gone', async () => {
    source.start();
    await settle(clock);
    api.put(NODES, { metadata: { name: 'n1', annotations: { heartbeat: '1' } } });
    api.put(NODES, { metadata: { name: 'n2' } });
    await settle(clock);
    expect(agent.nodes).to.have.length(1);
    api.put(NODES, { metadata: { name: 'n1', labels: { rack: 'a' } } });
    await settle(clock);
    expect(agent.nodes.at(-1)?.labels).to.deep.equal({ rack: 'a' });
    api.remove(NODES, 'n1');
    await settle(clock);
    expect(agent.nodes.at(-1)).to.equal(undefined);
  });

  it('reads the key of a peer from its Secret, again and again, and keeps it in silence', async () => {
    api.put(BGP_PEERS, peer('tor', { password: { secret: 'key' } }));
    source.start();
    await settle(clock);
    const fact = () => agent.secrets.get('tor');
    expect(fact()?.kind).to.equal('missing');
    const secret = (text: string) => ({
      metadata: { name: 'key', namespace: 'herald-system' },
      data: { password: Buffer.from(text).toString('base64') },
    });
    api.put(SECRETS, secret('first\n'));
    await settle(clock, 13_000);
    expect(fact()).to.deep.equal({ kind: 'ready', password: 'first' });
    api.put(SECRETS, secret('second'));
    await settle(clock, 13_000);
    expect(fact()).to.deep.equal({ kind: 'ready', password: 'second' });
    api.fault = ({ verb }) =>
      verb === 'get' ? { kind: 'before', error: new ApiUnreachable('away', undefined) } : undefined;
    await settle(clock, 30_000);
    expect(fact()).to.deep.equal({ kind: 'ready', password: 'second' });
    api.fault = undefined;
    api.put(SECRETS, secret('x'.repeat(81)));
    await settle(clock, 13_000);
    expect(fact()?.kind).to.equal('missing');
    api.remove(SECRETS, 'herald-system/key');
    await settle(clock, 13_000);
    expect(fact()).to.have.property('sentence').that.includes('does not exist');
  });

  describe('Secrets', () => {
    const asked = () =>
      api.calls.filter(({ verb, resource }) => verb === 'get' && resource.plural === 'secrets');
    const secret = (name: string, text: string) => ({
      metadata: { name, namespace: 'herald-system' },
      data: { password: Buffer.from(text).toString('base64') },
    });

    it('are asked for where their peer selects this node, as soon as it does', async () => {
      const rack = (name: string) => ({ nodeSelector: { matchLabels: { rack: name } } });
      for (const name of ['r1', 'r2', 'r3']) {
        api.put(SECRETS, secret(`key-${name}`, name));
        const password = { secret: `key-${name}` };
        api.put(BGP_PEERS, peer(name, { password, ...rack(name), address: `192.0.2.${name[1]}` }));
      }
      api.put(NODES, { metadata: { name: 'n1', labels: { rack: 'r1' } } });
      source.start();
      await settle(clock);
      await settle(clock, 60_000);
      expect(new Set(asked().map(({ name }) => name))).to.deep.equal(new Set(['key-r1']));
      expect([...agent.secrets.keys()]).to.deep.equal(['r1']);
      api.calls.splice(0);
      api.put(NODES, { metadata: { name: 'n1', labels: { rack: 'r2' } } });
      await settle(clock);
      await settle(clock);
      expect(asked().map(({ name }) => name)).to.deep.equal(['key-r2']);
      expect(agent.secrets.get('r2')).to.deep.equal({ kind: 'ready', password: 'r2' });
    });

    it('are asked for although another list fails, and no more when their peer is gone', async () => {
      const converted = convertPeerObject(
        api.put(BGP_PEERS, peer('tor', { password: { secret: 'key' } })),
      );
      if (!converted.ok) throw new Error(converted.sentence);
      const { object } = converted;
      const saved = { object, origin: 'API', createdMs: 0, source: 'api' } as const;
      const ofFile = { ...saved, object: { ...object, name: 'of-file' }, source: 'files' } as const;
      agent.documents = { ...NO_DOCUMENTS, peers: [saved, ofFile] };
      api.put(SECRETS, secret('key', 'first'));
      api.remove(BGP_PEERS, 'tor');
      api.uninstall(IP_POOLS);
      source.start();
      await settle(clock, 500);
      expect([...agent.secrets]).to.deep.equal([['tor', { kind: 'ready', password: 'first' }]]);
      expect(agent.told).to.equal(0);
      api.install(IP_POOLS);
      await settle(clock, 60_000);
      expect(agent.told).to.equal(1);
      expect([...agent.secrets]).to.deep.equal([]);
    });

    it('are told before the documents that name them, and what cannot be asked for is not missing', async () => {
      api.put(SECRETS, secret('key', 'first'));
      api.put(BGP_PEERS, peer('tor', { password: { secret: 'key' } }));
      source.start();
      await settle(clock);
      expect(agent.keysBefore).to.deep.equal(['tor']);
      const error = new ApiError(429, 'TooManyRequests', 'busy');
      api.fault = ({ verb }) => (verb === 'get' ? { kind: 'before', error } : undefined);
      api.put(BGP_PEERS, peer('tor', { password: { secret: 'other' } }));
      await settle(clock, 500);
      const problem = 'the Secret herald-system/other of BGPPeer tor cannot be read (busy)';
      expect(agent.secrets.get('tor')).to.deep.equal({ kind: 'unknown', problem });
      api.fault = undefined;
      await settle(clock, 13_000);
      expect(agent.secrets.get('tor')?.kind, 'it does not exist').to.equal('missing');
    });

    it('are asked for once a minute while the session is up, and sooner while it is not', async () => {
      api.put(SECRETS, secret('key', 'first'));
      api.put(BGP_PEERS, peer('tor', { password: { secret: 'key' } }));
      agent.sessions = [{ name: 'tor', state: 'established' }];
      source.start();
      await settle(clock);
      await settle(clock, 600_000);
      expect(asked().length).to.be.within(8, 14);
      agent.sessions = [{ name: 'tor', state: 'connect' }];
      api.calls.splice(0);
      await settle(clock, 60_000);
      expect(asked().length).to.be.within(4, 8);
      agent.sessions = [{ name: 'tor', state: 'established' }];
      api.remove(SECRETS, 'herald-system/key');
      for (let turn = 0; turn < 10; turn += 1) await settle(clock, 10_000);
      api.calls.splice(0);
      for (let turn = 0; turn < 6; turn += 1) await settle(clock, 10_000);
      expect(asked().length, 'while it is missing').to.be.within(4, 8);
    });
  });

  it('tells since when the API is silent, and that it is back', async () => {
    source.start();
    await settle(clock);
    clock.advance(100_000);
    api.bookmark();
    await settle(clock);
    const heard = clock.now();
    clock.advance(140_000);
    expect(agent.silence).to.equal(undefined);
    clock.advance(30_000);
    expect(agent.silence?.nowMs).to.be.closeTo(heard, 30);
    api.bookmark();
    await settle(clock);
    clock.advance(10_000);
    expect(agent.silence).to.equal(undefined);
  });

  it('tells with the documents since when a part of the API is silent', async () => {
    source.start();
    await settle(clock);
    const heard = clock.now();
    api.put(IP_POOLS, { ...pool('any'), metadata: { name: 'any', labels: { a: '1' } } });
    await settle(clock);
    expect(agent.told).to.equal(2);
    expect(agent.silentSince).to.equal(undefined);
    for (let turn = 0; turn < 16; turn += 1) {
      await settle(clock, 10_000);
      const bookmark = { kind: 'bookmark', resourceVersion: String(api.version) } as const;
      for (const resource of [IP_POOLS, BGP_PEERS, NODES]) api.inject(resource, bookmark);
    }
    api.put(IP_POOLS, { ...pool('any'), metadata: { name: 'any', labels: { a: '2' } } });
    await settle(clock);
    expect(agent.told).to.equal(3);
    expect(agent.silentSince?.nowMs).to.be.closeTo(heard, 100);
    api.bookmark();
    await settle(clock);
    api.put(IP_POOLS, { ...pool('any'), metadata: { name: 'any', labels: { a: '3' } } });
    await settle(clock);
    expect(agent.told).to.equal(4);
    expect(agent.silentSince).to.equal(undefined);
  });
});
