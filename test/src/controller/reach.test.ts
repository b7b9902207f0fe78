import { expect } from 'chai';
import { nodeView, reachOf, viewSignature } from '../../../src/controller/reach.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import { EXCLUDE_LABEL } from '../../../src/model/names.ts';
import { advertisement, clusterNode, ipNode, ipPool, peer } from './scenery.ts';

const PLAIN = ipPool({ name: 'pool' });
const scope = (pool = PLAIN, isOfService = true) => ({
  pool,
  placement: pool.placement,
  family: 'ipv4' as const,
  isOfService,
});
const view = (
  name: string,
  up: readonly string[],
  change: Parameters<typeof clusterNode>[1] = {},
) => nodeView(ipNode(name, { up }), clusterNode(name, change));
const numbers = (views: ReturnType<typeof view>[], peers: readonly BgpPeer[], pool = PLAIN) => {
  const { expected, announcing, peers: wanted, peersReached } = reachOf(scope(pool), views, peers);
  return `${announcing}/${expected} nodes, ${peersReached}/${wanted.size} peers`;
};

describe('what a pool reaches', () => {
  const peers = [peer('x'), peer('y')];

  it('counts nodes with a session, and peers with a node', () => {
    const views = [view('a', ['x', 'y']), view('b', ['x']), view('c', [])];
    expect(numbers(views, peers)).to.equal('2/3 nodes, 2/2 peers');
    expect(numbers([view('b', ['x'])], peers)).to.equal('1/1 nodes, 1/2 peers');
  });

  it('leaves out who has not joined, is not heard of, drains or is excluded', () => {
    const all = ['x', 'y'];
    expect(
      numbers([nodeView(ipNode('a', { up: all, joined: false }), clusterNode('a'))], peers),
    ).to.equal('0/0 nodes, 0/0 peers');
    expect(numbers([nodeView(ipNode('a', { up: all }), undefined)], peers)).to.equal(
      '0/0 nodes, 0/0 peers',
    );
    expect(numbers([view('a', all, { ready: 'unknown' })], peers)).to.equal('0/0 nodes, 0/0 peers');
    expect(
      numbers([view('a', all, { ready: 'false' })], peers),
      'NotReady alone is heard',
    ).to.equal('1/1 nodes, 2/2 peers');
    const silent = ipNode('a', { up: all, isAlive: false });
    expect(numbers([nodeView(silent, clusterNode('a'))], peers)).to.equal('0/0 nodes, 0/0 peers');
    const draining = ipNode('a', { up: all, draining: true });
    expect(numbers([nodeView(draining, clusterNode('a'))], peers)).to.equal('0/0 nodes, 0/0 peers');
    const excluded = view('a', all, { labels: { [EXCLUDE_LABEL]: '' } });
    expect(numbers([excluded], peers)).to.equal('0/0 nodes, 0/0 peers');
    expect(reachOf(scope(PLAIN, false), [excluded], peers).expected, 'not of a Service').to.equal(
      1,
    );
    expect(numbers([excluded], peers, ipPool({ name: 'pool', ignoreExcludeLabel: true }))).to.equal(
      '1/1 nodes, 2/2 peers',
    );
  });

  it('counts no session that does not take routes of the family, though it is up', () => {
    const cannotCarry = [{ family: 'ipv6', message: 'no next hop' }] as const;
    const session = (name: string) => ({
      peer: name,
      address: '192.0.2.1',
      state: 'Established' as const,
    });
    const node = ipNode('a');
    const sessions = [{ ...session('x'), cannotCarry }, session('y')];
    const deaf = nodeView({ ...node, status: { ...node.status, sessions } }, clusterNode('a'));
    expect(numbers([deaf], peers), 'IPv4').to.equal('1/1 nodes, 2/2 peers');
    const of6 = reachOf({ ...scope(), family: 'ipv6' }, [deaf], peers);
    expect(of6.nodes.get('a')?.reached).to.deep.equal(['y']);
    const alone = reachOf({ ...scope(), family: 'ipv6' }, [deaf], [peer('x')]);
    expect([alone.announcing, alone.connected]).to.deep.equal([0, 1]);
    expect(viewSignature(deaf)).not.to.equal(viewSignature(view('a', ['x', 'y'])));
  });

  it('knows of an exclusive claim also those that its selector does not mean any more', () => {
    const elsewhere = { ...PLAIN.placement, nodeSelector: { matchLabels: { rack: '2' } } };
    const of = (mode: 'anycast' | 'exclusive') =>
      reachOf({ ...scope(), placement: { ...elsewhere, mode } }, [view('a', ['x'])], peers);
    expect(of('exclusive').nodes.get('a')).to.deep.equal({
      isExpected: false,
      wanted: 2,
      reached: ['x'],
      isConnected: true,
    });
    expect(of('exclusive').expected).to.equal(0);
    expect(of('anycast').nodes.size).to.equal(0);
  });

  it('counts an excluded node that is the only one there is, as soon as it says so', () => {
    const node = clusterNode('a', { labels: { [EXCLUDE_LABEL]: '' } });
    const before = nodeView(ipNode('a', { up: ['x', 'y'] }), node);
    const alone = nodeView(ipNode('a', { up: ['x', 'y'], ignoresExcludeLabel: true }), node);
    expect(numbers([alone], peers)).to.equal('1/1 nodes, 2/2 peers');
    expect(viewSignature(alone)).not.to.equal(viewSignature(before));
  });

  it('goes by selectors of the placement, the peers and the advertisements, and by families', () => {
    const rack = (name: string) => ({ labels: { rack: name } });
    const views = [view('a', ['x', 'y'], rack('1')), view('b', ['x', 'y'], rack('2'))];
    const inRack = (name: string) => ({ matchLabels: { rack: name } });
    const one = ipPool({ name: 'pool', nodeSelector: inRack('1') });
    expect(numbers(views, peers, one)).to.equal('1/1 nodes, 2/2 peers');
    const split = [
      peer('x', { nodeSelector: inRack('1') }),
      peer('y', { nodeSelector: inRack('2') }),
    ];
    expect(numbers(views, split)).to.equal('2/2 nodes, 2/2 peers');
    const only = ipPool({
      name: 'pool',
      advertisements: [advertisement({ peerSelector: { matchLabels: { name: 'x' } } })],
    });
    expect(numbers(views, peers, only)).to.equal('2/2 nodes, 1/1 peers');
    const six = [peer('x', { families: ['ipv6'] }), peer('y')];
    expect(numbers(views, six)).to.equal('2/2 nodes, 1/1 peers');
  });

  it('sees nothing new in a node that counts its routes', () => {
    const before = nodeView(ipNode('a', { up: ['x'], routes: 1 }), clusterNode('a'));
    const after = nodeView(ipNode('a', { up: ['x'], routes: 2 }), clusterNode('a'));
    expect(viewSignature(after)).to.equal(viewSignature(before));
  });

  it('names nodes that do not list all that they refuse, where they may be counted', () => {
    const full = (name: string, up: readonly string[]) =>
      nodeView(ipNode(name, { up, refusedMore: 1 }), clusterNode(name));
    const found = reachOf(scope(), [full('a', ['x']), full('b', []), view('c', ['x'])], peers);
    expect(found.cutShort).to.deep.equal(['a']);
    expect(viewSignature(full('c', ['x']))).not.to.equal(viewSignature(view('c', ['x'])));
  });
});
