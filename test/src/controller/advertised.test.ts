import { expect } from 'chai';
import {
  advertisedCondition,
  claimVerdict,
  type Refusers,
} from '../../../src/controller/advertised.ts';
import { nodeView, reachOf } from '../../../src/controller/reach.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import type { IpNode } from '../../../src/model/ip-node.ts';
import { nodeLabel } from '../../../src/model/names.ts';
import { claim, clusterNode, ipNode, ipPool, peer } from './scenery.ts';

const POOL = ipPool({ name: 'pool' });
const PEERS = [peer('x'), peer('y')];
const THREE = ['a', 'b', 'c'].map((name) => ipNode(name, { up: ['x', 'y'] }));

const reach = (nodes: readonly IpNode[], peers = PEERS) =>
  reachOf(
    { pool: POOL, placement: POOL.placement, family: 'ipv4', isOfService: true },
    nodes.map((node) => nodeView(node, clusterNode(node.name))),
    peers,
  );

const refusers = (gates: Readonly<Record<string, string>>): Refusers =>
  new Map(
    Object.entries(gates).map(([node, gate]) => [
      node,
      { address: '198.51.100.7', gate, message: `${gate} says no` },
    ]),
  );

const words = (nodes: readonly IpNode[], of: Partial<IpClaim> = {}, gates = {}, peers = PEERS) => {
  const verdict = claimVerdict({
    claim: claim('198.51.100.7', of),
    isExclusive: of.node !== undefined,
    reach: reach(nodes, peers),
    refusers: refusers(gates),
  });
  return `${verdict.reason}: ${verdict.message}`;
};

describe('the condition Advertised', () => {
  it('counts nodes and peers', () => {
    expect(words(THREE)).to.equal('Advertised: advertised by 3 of 3 nodes to 2 of 2 peers');
    expect(words([ipNode('a', { up: ['x'] })], {}, {}, [peer('x')])).to.equal(
      'Advertised: advertised by 1 of 1 node to 1 of 1 peer',
    );
  });

  it('is partly where a session or a router is missing', () => {
    const [a, b] = THREE;
    if (a === undefined || b === undefined) throw new Error('there are three');
    expect(words([a, b, ipNode('c', { up: [] })])).to.equal(
      'PartlyAdvertised: advertised by 2 of 3 nodes to 2 of 2 peers',
    );
    expect(words([ipNode('a', { up: ['x'] }), ipNode('b', { up: ['x'] })])).to.equal(
      'PartlyAdvertised: advertised by 2 of 2 nodes to 1 of 2 peers',
    );
  });

  it('subtracts nodes that refuse the address, and tells the first of them', () => {
    expect(words(THREE, {}, { b: 'bound' })).to.equal(
      'PartlyAdvertised: advertised by 2 of 3 nodes to 2 of 2 peers; node b: bound says no',
    );
    expect(words(THREE, {}, { a: 'bound', b: 'bound', c: 'bound' })).to.equal(
      'Refused: not advertised: node a: bound says no (and 2 more nodes)',
    );
    const alone = [ipNode('a', { up: ['x'] }), ipNode('b', { up: ['y'] })];
    expect(words(alone, {}, { b: 'allowed' }), 'a router only it had').to.equal(
      'PartlyAdvertised: advertised by 1 of 2 nodes to 1 of 2 peers; node b: allowed says no',
    );
    expect(words(THREE, {}, { stranger: 'bound' }), 'a node that is no part of it').to.equal(
      'Advertised: advertised by 3 of 3 nodes to 2 of 2 peers',
    );
  });

  it('knows the wait for kube-proxy from a refusal, and counts one more node as one', () => {
    const said = (message: string) => ({ address: '198.51.100.7', gate: 'healthy', message });
    const verdict = (messages: readonly string[]) =>
      claimVerdict({
        claim: claim('198.51.100.7'),
        isExclusive: false,
        reach: reach(THREE.slice(0, messages.length)),
        refusers: new Map(
          messages.map((message, index) => [THREE[index]?.name ?? '', said(message)]),
        ),
      });
    const wait = 'kube-proxy has not written the rules of its Service yet';
    expect(verdict([wait, wait])).to.deep.include({
      reason: 'Waiting',
      message: `not advertised yet: node a: ${wait} (and 1 more node)`,
    });
    expect(verdict([wait, 'its check fails']).reason).to.equal('Refused');
  });

  it('says that no session takes the family, where sessions are up; and the node that still has an exclusive claim', () => {
    const cannotCarry = [{ family: 'ipv4', message: 'not agreed' }] as const;
    const deaf = (name: string): IpNode => {
      const node = ipNode(name, { up: ['x', 'y'] });
      const sessions = node.status.sessions?.map((each) => ({ ...each, cannotCarry })) ?? [];
      return { ...node, status: { ...node.status, sessions } };
    };
    const why = 'no session with a router carries ipv4 routes; kubectl describe ipnodes tells why';
    expect(words([deaf('a')])).to.equal(`Refused: not advertised: ${why}`);
    expect(words([deaf('a')], {}, { a: 'allowed' })).to.equal(
      'Refused: not advertised: node a: allowed says no',
    );
    const moving = { node: 'b', labels: { [nodeLabel('a')]: '2', [nodeLabel('b')]: '0' } };
    const both = [ipNode('a', { up: ['x', 'y'] }), deaf('b')];
    expect(words(both, moving)).to.equal(
      `PartlyAdvertised: advertised by node a to 2 of 2 peers until another does; ${why}`,
    );
    expect(words(both, moving, { b: 'allowed' })).to.equal(
      'PartlyAdvertised: advertised by node a to 2 of 2 peers until another does; node b: allowed says no',
    );
    expect(words([deaf('a'), deaf('b')], moving)).to.equal(`Refused: not advertised: ${why}`);
  });

  it('does not miss nodes without an endpoint of a Local Service', () => {
    const local = { services: [{ namespace: 'n', name: 's', healthCheckNodePort: 30_000 }] };
    expect(words(THREE, local, { a: 'healthy', b: 'healthy' })).to.equal(
      'Advertised: advertised by 1 of 1 node to 2 of 2 peers; 2 more without a ready endpoint',
    );
    expect(words(THREE, local, { a: 'healthy', b: 'healthy', c: 'healthy' })).to.equal(
      'NoEndpoint: not advertised: none of 3 nodes has a ready endpoint',
    );
    expect(words(THREE, {}, { a: 'healthy' }), 'of one that is not Local').to.contain('2 of 3');
  });

  it('does not count a node that refuses more than it lists, unless that says of this address', () => {
    const local = { services: [{ namespace: 'n', name: 's', healthCheckNodePort: 30_000 }] };
    const full = (name: string) => ipNode(name, { up: ['x', 'y'], refusedMore: 50 });
    const [a, b] = THREE;
    if (a === undefined || b === undefined) throw new Error('there are three');
    const unknown = 'NotKnown: not known whether it is advertised: ';
    expect(words([full('a')], local)).to.equal(
      `${unknown}1 node refuses more addresses than fit into a report`,
    );
    expect(words([full('a'), full('b')], {})).to.equal(
      `${unknown}2 nodes refuse more addresses than fit into a report`,
    );
    expect(words([full('a')], local, { a: 'healthy' }), 'it is listed').to.match(/^NoEndpoint/);
    expect(words([a, b, full('c')])).to.equal(
      'Advertised: advertised by 2 of 2 nodes to 2 of 2 peers; not known of 1 more',
    );
    expect(words([a, full('c')], local, { a: 'healthy' })).to.match(
      /^NotKnown: .*: 1 node refuses/,
    );
    const refused = [{ address: '198.51.100.200', gate: 'healthy', message: '' }];
    const late = ipNode('a', { up: ['x', 'y'], refused, refusedMore: 50 });
    expect(words([late], local), 'cut among those that are not served').to.match(/^NotKnown/);
    expect(words([late], {}), 'of one that is not Local all is known').to.equal(
      'Advertised: advertised by 1 of 1 node to 2 of 2 peers',
    );
    const alone = ipNode('c', { up: ['y'], refusedMore: 1 });
    expect(words([ipNode('a', { up: ['x'] }), alone]), 'a router only it may have').to.equal(
      'PartlyAdvertised: advertised by 1 of 1 node to 1 of 2 peers; not known of 1 more',
    );
    expect(words([ipNode('a', { up: [], refusedMore: 1 })]), 'it has nobody to tell').to.match(
      /^NoSession/,
    );
    expect(words([full('b')], { node: 'b' })).to.equal(
      `${unknown}node b refuses more addresses than fit into a report`,
    );
    expect(words([full('b')], { node: 'b' }, { b: 'bound' })).to.match(/^Refused/);
    const moving = { node: 'b', labels: { [nodeLabel('a')]: '2', [nodeLabel('b')]: '0' } };
    expect(words([full('a'), full('b')], moving)).to.match(/^NotKnown/);
    expect(words([a, full('b')], moving)).to.match(/^PartlyAdvertised: advertised by node a /);
  });

  it('says what is missing where nobody advertises', () => {
    expect(words([])).to.match(/^NoNode: not advertised: no node that may announce it has joined/);
    expect(words([ipNode('a')])).to.match(/^NoSession: not advertised: 1 node has no session/);
    expect(words([ipNode('a'), ipNode('b')])).to.match(/: 2 nodes have no session/);
    expect(words(THREE, {}, {}, [])).to.match(
      /^NoPeer: not advertised: no BGPPeer is meant for it/,
    );
    expect(words(THREE, { withdrawn: { reason: 'it has no ready endpoint' } })).to.equal(
      'Withdrawn: it has no ready endpoint',
    );
    const verdict = claimVerdict({
      claim: claim('198.51.100.7'),
      isExclusive: false,
      reach: undefined,
      refusers: new Map(),
    });
    expect(verdict.reason).to.equal('NoPool');
  });

  it('looks at the holder alone where the claim is exclusive', () => {
    expect(words(THREE, { node: 'b' })).to.equal(
      'Advertised: advertised by node b to 2 of 2 peers',
    );
    expect(words(THREE, { node: 'b' }, { b: 'bound' })).to.equal(
      'Refused: not advertised: node b: bound says no',
    );
    expect(words(THREE, { node: 'z' })).to.match(/^NoNode: not advertised: node z, which holds it/);
    expect(words([ipNode('b')], { node: 'b' })).to.match(
      /^NoSession: not advertised: node b has no session/,
    );
    const draining = ipNode('b', { up: ['x', 'y'], draining: true });
    expect(words([draining], { node: 'b' }), 'it serves until it is moved').to.match(/^Advertised/);
    const unplaced = claimVerdict({
      claim: claim('198.51.100.7'),
      isExclusive: true,
      reach: reach(THREE),
      refusers: new Map(),
    });
    expect(unplaced.reason).to.equal('NotPlaced');
  });

  it('is one for all addresses: the worst counts, and one of two is more than none', () => {
    const good = { address: '198.51.100.7', reason: 'Advertised', message: 'good' } as const;
    const bad = { address: '2001:db8::7', reason: 'NoSession', message: 'bad' } as const;
    expect(advertisedCondition([])).to.equal(undefined);
    expect(advertisedCondition([good, { ...good, address: '198.51.100.8' }])).to.deep.equal({
      type: 'herald.dev/Advertised',
      status: 'True',
      reason: 'Advertised',
      message: 'good',
    });
    expect(advertisedCondition([good, bad])).to.deep.include({
      status: 'True',
      reason: 'PartlyAdvertised',
      message: '2001:db8::7: bad; 198.51.100.7: good',
    });
    expect(advertisedCondition([bad])).to.deep.include({ status: 'False', reason: 'NoSession' });
    const open = { address: '198.51.100.9', reason: 'NotKnown', message: 'open' } as const;
    expect(advertisedCondition([open])).to.deep.include({ status: 'Unknown', reason: 'NotKnown' });
    expect(advertisedCondition([open, bad])).to.deep.include({ status: 'Unknown' });
    expect(advertisedCondition([open, good])).to.deep.include({ status: 'True' });
  });
});
