import { expect } from 'chai';
import type { CachedDocument } from '../../../src/controller/cached-document.ts';
import { controllerFacts } from '../../../src/controller/facts.ts';
import { nodeNews } from '../../../src/controller/node-events.ts';
import { type PeeringNode, peerStatus } from '../../../src/controller/peer-status.ts';
import { PeerStatusLoop } from '../../../src/controller/peer-status-loop.ts';
import { peerTwins } from '../../../src/controller/peer-twins.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import { BGP_PEERS } from '../../../src/sources/kube/resources.ts';
import { ClusterWorld } from './cluster-world.ts';
import { clusterNode, ipNode, type NodeReport, peer } from './scenery.ts';

const META = {
  name: 'x',
  uid: 'u',
  resourceVersion: '1',
  generation: 4,
  createdMs: 0,
  isBeingDeleted: false,
  labels: {},
  annotations: {},
  status: {},
  conditions: [],
};
const document = (change: Partial<BgpPeer> = {}): CachedDocument<BgpPeer> => ({
  ok: true,
  meta: META,
  object: peer('x', change),
});
const at = (name: string, report: NodeReport, ready: 'true' | 'unknown' = 'true'): PeeringNode => ({
  node: clusterNode(name, { ready, labels: { rack: name } }),
  ipNode: ipNode(name, report),
});
const words = (nodes: readonly PeeringNode[], of = document()) => {
  const { established, nodes: wanted, condition } = peerStatus(of, nodes);
  const { status, reason, message } = condition;
  return `${established}/${wanted} ${status} ${reason}: ${message}`;
};

describe('the status of a BGPPeer', () => {
  const up = { up: ['x'] };

  it('counts the nodes that shall peer with it, and those that do', () => {
    expect(words([at('a', up), at('b', up)])).to.equal(
      '2/2 True AllEstablished: 2 of 2 nodes have a session',
    );
    expect(words([])).to.equal(
      '0/0 Unknown NoNode: no node with an agent matches its nodeSelector',
    );
    const inRack = document({ nodeSelector: { matchLabels: { rack: 'a' } } });
    expect(words([at('a', up), at('b', {})], inRack)).to.match(/^1\/1 True AllEstablished/);
  });

  it("has the router's own words of the first node that has any", () => {
    const down = { down: { x: 'Cease/Maximum Number of Prefixes Reached' } };
    expect(words([at('c', down), at('b', { down: { x: 'refused' } }), at('a', up)])).to.equal(
      '1/3 False SomeDown: 1 of 3 nodes have a session; node b: refused',
    );
    expect(words([at('a', {}), at('c', down)])).to.equal(
      '0/2 False NoneEstablished: 0 of 2 nodes have a session; node c: Cease/Maximum Number of Prefixes Reached',
    );
    expect(words([at('a', {})])).to.contain('node a: no session yet');
  });

  it('believes no session of a node that is not heard of', () => {
    expect(words([at('a', up), at('b', up, 'unknown')])).to.equal(
      '1/2 False SomeDown: 1 of 2 nodes have a session; node b: it has not been heard of',
    );
    expect(words([at('a', { ...up, isAlive: false })])).to.match(/^0\/1 False NoneEstablished/);
  });

  it('says why a document is refused, and of which generation it speaks', () => {
    const bad = { ok: false, meta: META, sentence: 'spec.address: no address' } as const;
    expect(words([at('a', up)], bad)).to.equal('0/0 False Refused: spec.address: no address');
    expect(peerStatus(document(), []).condition.observedGeneration).to.equal(4);
  });
});

describe('BGPPeers that are one session', () => {
  const of = (name: string, change: Partial<BgpPeer> = {}, meta: object = {}) => ({
    ok: true as const,
    meta: { ...META, name, ...meta },
    object: peer(name, change),
  });
  const inRack = (rack: string) => ({ nodeSelector: { matchLabels: { rack } } });
  const told = (peers: readonly CachedDocument<BgpPeer>[], nodes: readonly PeeringNode[] = []) =>
    [...peerTwins(peers, nodes)].map(([name, sentence]) => `${name}: ${sentence.split(';')[0]}`);

  it('are told of the younger one, or of the one that came to it later', () => {
    const older = of('b', {}, { createdMs: 1 });
    expect(told([of('a', {}, { createdMs: 2 }), older])).to.deep.equal([
      'a: it is the same session as BGPPeer/b',
    ]);
    const standing = { type: 'SessionsUp', status: 'True', reason: 'AllEstablished', message: '' };
    const conditions = [{ ...standing, observedGeneration: META.generation }];
    expect(told([of('a', {}, { createdMs: 2, conditions }), older])).to.deep.equal([
      'b: it is the same session as BGPPeer/a',
    ]);
    const refusal = { ...conditions[0], status: 'False', reason: 'SameSession' };
    const refused = of('b', {}, { createdMs: 1, conditions: [refusal] });
    expect(told([of('a', {}, { createdMs: 2, generation: 5 }), refused]), 'edited').to.deep.equal([
      'b: it is the same session as BGPPeer/a',
    ]);
    expect(told([of('a'), of('b', { port: 1790 })])).to.deep.equal([]);
    expect(told([of('a', inRack('a')), of('b', inRack('b'))])).to.deep.equal([]);
  });

  it('are told where they meet on a node, of the one that its agent does not work on', () => {
    const peers = [of('x'), of('y', inRack('a'))];
    const met = at('a', { up: ['x'], down: { y: 'twin' }, isRefused: ['y'] });
    expect(told(peers, [at('b', { up: ['x'] }), met])).to.deep.equal([
      'y: on node a it is the same session as BGPPeer/x',
    ]);
    const apart = of('y', {
      ...inRack('a'),
      overrides: [{ address: { family: 'ipv4', bits: 0xc0000209 } }],
    });
    expect(told([of('x'), apart], [met])).to.deep.equal([]);
    const idle = at('a', { down: { x: '', y: '' }, isRefused: ['x', 'y'] });
    expect(told(peers, [idle]), 'nobody knows yet').to.deep.equal([]);
    const known = { type: 'SessionsUp', status: 'False', reason: 'SameSession', message: '' };
    const said = of('y', inRack('a'), { conditions: [known] });
    expect(told([of('x'), said], [idle]), 'it was known before').to.have.length(1);
  });

  it('have it in the condition, and count no more than they have', () => {
    const { condition } = peerStatus(document(), [at('a', {})], 'it is y');
    expect(condition).to.include({ status: 'False', reason: 'SameSession', message: 'it is y' });
  });
});

describe('the loop of the status of BGPPeers', () => {
  it('tells of a twin in its condition, in an event and in the numbers, until it is none any more', async () => {
    const world = new ClusterWorld();
    world.peer('x');
    world.peer('y');
    world.node('a', { x: 'Established' });
    await world.sync();
    const loop = new PeerStatusLoop({ ...world, caches: world.caches });
    loop.start();
    await world.advance(6000);
    const condition = () => Object(world.api.object(BGP_PEERS, 'y')?.['status']).conditions[0];
    expect(condition()).to.deep.include({ status: 'False', reason: 'SameSession' });
    expect(condition().message).to.match(/the same session as BGPPeer\/x; remove one/);
    expect(world.told.join()).to.include('BGPPeer/y Warning SameSession: it is the same session');
    expect(controllerFacts(world.caches, true).refusedDocuments.peers).to.equal(1);
    await world.advance(20_000);
    expect(condition().reason, 'it stays so').to.equal('SameSession');
    await world.api.delete(BGP_PEERS, 'x');
    await world.advance(6000);
    expect(condition().reason).to.equal('NoneEstablished');
    expect(controllerFacts(world.caches, true).refusedDocuments.peers).to.equal(0);
    loop.stop();
  });

  it('writes it when it changes, every five seconds at most, and tells the change of reason', async () => {
    const world = new ClusterWorld();
    world.peer('x');
    world.node('a', { x: 'Established' });
    await world.sync();
    const loop = new PeerStatusLoop({ ...world, caches: world.caches });
    loop.start();
    await world.advance(6000);
    const status = () => Object(world.api.object(BGP_PEERS, 'x')?.['status']);
    expect(status()).to.deep.include({ nodes: 1, established: 1 });
    expect(world.writes()).to.deep.equal(['patch bgppeers x']);
    for (let second = 0; second < 30; second += 1) {
      const state = second % 2 === 0 ? 'Active' : 'Established';
      world.report('a', { x: state }, 'connection reset');
      await world.advance(1000);
    }
    expect(world.writes().length).to.be.within(1, 7);
    world.report('a', { x: 'Idle' }, 'Cease/Administrative Shutdown: bye');
    await world.advance(11_000);
    expect(status().conditions[0].message).to.equal(
      '0 of 1 node has a session; node a: Cease/Administrative Shutdown: bye',
    );
    expect(world.told.at(-1)).to.match(/^BGPPeer\/x Warning NoneEstablished: /);
    world.writes();
    await world.advance(60_000, 5000);
    expect(world.writes(), 'nothing has changed').to.deep.equal([]);
    loop.stop();
    world.report('a', { x: 'Established' });
    await world.advance(11_000);
    expect(world.writes(), 'it has stopped').to.deep.equal([]);
  });
});

describe('news of a node', () => {
  const news = (now: NodeReport, before: NodeReport) =>
    nodeNews(ipNode('a', now), ipNode('a', before)).map(
      ({ type, reason, message }) => `${type} ${reason}: ${message}`,
    );

  it('are sessions that went and came, with the reason', () => {
    expect(news({ down: { x: 'Hold Timer Expired' } }, { up: ['x'] })).to.deep.equal([
      'Warning SessionDown: session of node a with x (192.0.2.1) is down: Hold Timer Expired',
    ]);
    expect(news({ up: ['x'] }, { down: { x: 'Hold Timer Expired' } })).to.deep.equal([
      'Normal SessionUp: session of node a with x (192.0.2.1) is up',
    ]);
    expect(news({ down: { x: 'one' } }, { down: { x: 'another' } })).to.deep.equal([]);
    expect(news({ up: [] }, { up: ['x'] }), 'it is not wanted any more').to.deep.equal([]);
  });

  it('are its joining and its leaving', () => {
    expect(news({ joined: true }, { joined: false })).to.deep.equal(['Normal Joined: joined']);
    expect(news({ joined: false }, { joined: true })).to.deep.equal([
      'Warning NotJoined: its Node is not Ready yet',
    ]);
    expect(news({ routes: 3 }, { routes: 2 })).to.deep.equal([]);
  });
});
