import { type Address, parseAddress } from 'bgp-ts';
import { expect } from 'chai';
import { CannotLook } from '../../../src/cluster-view/asking.ts';
import { explain } from '../../../src/cluster-view/explain.ts';
import { readExplainFacts } from '../../../src/cluster-view/explain-facts.ts';
import { renderClusterExplain } from '../../../src/cluster-view/render-explain.ts';
import { EXCLUDE_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { ApiError } from '../../../src/sources/kube/api.ts';
import type { MemoryCall } from '../../support/memory-kube-api.ts';
import { ADDRESS, ALLOCATED, condition, NOW_MS, Scenery, STYLE, session } from './scenery.ts';

const WEB = { kind: 'service', namespace: 'shop', name: 'web' } as const;

function address(text: string): Address {
  const read = parseAddress(text);
  if (read === undefined) throw new Error(text);
  return read;
}

const told = async (scene: Scenery, subject: Parameters<typeof readExplainFacts>[1] = WEB) => {
  const answer = explain(await readExplainFacts(scene.api, subject), NOW_MS);
  return { answer, text: renderClusterExplain(answer, STYLE) };
};

async function shop(): Promise<Scenery> {
  const scene = new Scenery();
  await scene.pool();
  await scene.peers();
  await scene.claim();
  await scene.service([
    ALLOCATED,
    condition('herald.dev/Advertised', 'True', 'Advertised', 'advertised by 2 of 2 nodes'),
  ]);
  return scene;
}

const routes = (text: string) =>
  text
    .split('\n')
    .filter((line) => /^node-/.test(line))
    .map((line) => line.replaceAll(/ +/g, ' '));

describe('explain of a cluster', () => {
  it('tells of a Service its address, its routes, and what each node and router has of it', async () => {
    const scene = await shop();
    await scene.node('node-a');
    await scene.node('node-b');
    const { text, answer } = await told(scene);
    expect(text).to.include('Service shop/web');
    expect(text).to.include('address  Allocated for 1m00s: 198.51.100.10');
    expect(text).to.include('announced by 2 of 2 nodes to 2 of 2 routers');
    expect(text).to.include('anycast: every node that can serve it (Placed for 1m00s)');
    expect(routes(text)).to.deep.equal([
      'node-a tor-a announced Established 1m00s all open',
      'node-a tor-b announced Established 1m00s all open',
      'node-b tor-a announced Established 1m00s all open',
      'node-b tor-b announced Established 1m00s all open',
    ]);
    expect(answer.claims[0]?.nodes[0]?.gates.map(({ name }) => name)).to.include.members([
      'agent',
      'joined',
      'assigned',
      'allowed',
      'healthy',
      'bound',
      'not-draining',
    ]);
  });

  it('prefers what the nodes say now to a condition that is seconds old, in both directions', async () => {
    const scene = new Scenery();
    await scene.pool();
    await scene.peers();
    await scene.claim();
    await scene.node('node-a');
    const old = condition('herald.dev/Advertised', 'False', 'Refused', 'not advertised: node-a');
    await scene.service([ALLOCATED, old]);
    const { text, answer } = await told(scene);
    expect(answer.services[0]?.advertised?.isOutdated).to.equal(true);
    expect(text.replaceAll(/\s+/g, ' ')).to.include(
      "routes announced, see below; the Service's status follows in a moment, it still says Refused: not advertised",
    );
    const gone = await shop();
    const refused = [{ address: ADDRESS, gate: 'healthy', message: 'no endpoint here' }];
    await gone.node('node-a', { refused });
    expect((await told(gone)).text).to.include('routes   not announced at this moment, see below');
  });

  it('leaves a space behind its widest label', async () => {
    const scene = new Scenery();
    await scene.pool();
    await scene.peers();
    await scene.claim({ withdrawn: { reason: 'NoEndpoints: no Service has an endpoint' } });
    await scene.node('node-a');
    await scene.service([ALLOCATED]);
    expect((await told(scene)).text).to.include('\n  withdrawn NoEndpoints: no Service');
  });

  it('says what to do about a session that cannot carry the family', async () => {
    const scene = await shop();
    const cannotCarry = [{ family: 'ipv4', message: 'tor-a did not agree on ipv4' }];
    await scene.node('node-a', { sessions: [{ ...session('tor-a'), cannotCarry }] });
    const { text } = await told(scene);
    expect(text).to.match(/did not agree on ipv4\n +→ see families and nextHop of BGPPeer tor-a/);
  });

  it('asks for a Service its claim by name, and lists none', async () => {
    const scene = await shop();
    await scene.node('node-a');
    await told(scene);
    expect(scene.asked).to.include('get ipclaims').and.not.to.include('list ipclaims');
  });

  it('finds a claim whose Service has not been told of it yet', async () => {
    const scene = new Scenery();
    await scene.pool();
    await scene.claim();
    await scene.service([], {}, []);
    const { answer } = await told(scene);
    expect(answer.claims.map((claim) => claim.address)).to.deep.equal([ADDRESS]);
  });

  it('says what is shut on a node and what to do about it', async () => {
    const scene = await shop();
    const out = { open: false, reason: 'NotJoined', message: 'the Node is not Ready', since: '' };
    await scene.node('node-a', { joined: out });
    await scene.node('node-b', {}, { [EXCLUDE_LABEL]: '' });
    const refused = [{ address: ADDRESS, gate: 'healthy', message: 'no answer from 10.0.0.1' }];
    await scene.node('node-c', { refused });
    await scene.node('node-d', {
      draining: { reason: 'a person said so', since: '2026-01-01T00:00:00Z' },
    });
    await scene.node('node-e', { ignoresExcludeLabel: true }, { [EXCLUDE_LABEL]: '' });
    const { text } = await told(scene);
    expect(routes(text)).to.include.members([
      'node-a tor-a none Established 1m00s joined closed',
      'node-b tor-a draining Established 1m00s not-draining draining',
      'node-c tor-a none Established 1m00s healthy closed',
      'node-d tor-a none Established 1m00s not-draining closed',
      'node-e tor-a announced Established 1m00s all open',
    ]);
    expect(text).to.include('→ see why: kubectl describe node node-a');
    expect(text).to.include(`→ kubectl label node node-b`);
    expect(text).to.include('healthy: no answer from 10.0.0.1');
    expect(text).to.include("→ bring up what the claim's checks ask");
    expect(text).to.include('→ herald undrain, on node-d');
  });

  it('says what to do about a drain that is over: of the Node, or of the claim', async () => {
    const scene = await shop();
    const refused = [{ address: ADDRESS, gate: 'not-draining', message: 'drained' }];
    await scene.node('node-a', { refused }, { [EXCLUDE_LABEL]: '' });
    await scene.node('node-b', { refused });
    const { text } = await told(scene);
    expect(text).to.include('→ kubectl label node node-a');
    expect(text).to.include(`→ herald undrain ${ADDRESS}, on node-b`);
    expect(text).not.to.include(`→ herald undrain ${ADDRESS}, on node-a`);
  });

  it('tells a session that is down from one that is not there, with the words of the router', async () => {
    const scene = await shop();
    const down = session('tor-b', 'Active', 'Cease: Administrative Shutdown');
    await scene.node('node-a', { sessions: [session('tor-a'), down] });
    await scene.node('node-b', { sessions: [session('tor-a')] });
    const { text } = await told(scene);
    expect(routes(text)).to.include.members([
      'node-a tor-b waiting Active 1m00s all open',
      'node-b tor-b waiting - - all open',
    ]);
    expect(text).to.include('Cease: Administrative Shutdown');
    expect(text).to.include('reports no session with tor-b');
  });

  it('tells a session that is up and takes no routes of the family from one that does', async () => {
    const scene = await shop();
    const message = 'ipv4 unicast was not agreed on; turn on ipv4 for this neighbour at the router';
    const deaf = { ...session('tor-b'), cannotCarry: [{ family: 'ipv4', message }] };
    await scene.node('node-a', { sessions: [session('tor-a'), deaf] });
    const { text } = await told(scene);
    expect(routes(text)).to.deep.equal([
      'node-a tor-a announced Established 1m00s all open',
      'node-a tor-b none Established 1m00s all open',
    ]);
    expect(text.replaceAll(/\s+/g, ' ')).to.include(message);
    expect(text).to.include('announced by 1 of 1 node to 1 of 2 routers');
  });

  it('says of an address that its pool has left behind that it stays, and of one that nobody knows why not', async () => {
    const gates = (text: string) => text.replaceAll(/\s+/g, ' ');
    const shrunk = new Scenery();
    await shrunk.pool({ addresses: ['198.51.100.128/25'] });
    await shrunk.peers();
    await shrunk.claim();
    await shrunk.service([ALLOCATED]);
    await shrunk.node('node-a');
    const small = await told(shrunk);
    expect(small.text).to.include('announced by 1 of 1 node to 2 of 2 routers');
    const [first] = small.answer.claims;
    expect(first?.nodes[0]?.gates.find(({ name }) => name === 'allowed')?.sentence).to.equal(
      'pool public does not hold it any more; it stays until its Services leave it',
    );
    const gone = new Scenery();
    await gone.peers();
    await gone.claim();
    await gone.service([ALLOCATED]);
    await gone.node('node-a');
    const message = 'IPPool public is gone, and this node has never known it';
    await gone.node('node-b', { refused: [{ address: ADDRESS, gate: 'allowed', message }] });
    const { text } = await told(gone);
    expect(text).to.include('announced by 1 of 2 nodes to 2 of 2 routers');
    expect(gates(text)).to.include(message);
    const byHand = new Scenery();
    await byHand.peers();
    await byHand.claim({ services: [] });
    await byHand.node('node-a');
    const refused = await told(byHand, { kind: 'address', address: address(ADDRESS) });
    expect(refused.text).to.include('announced by 0 of 1 node');
  });

  it('does not claim to know what an agent that is silent announces', async () => {
    const scene = await shop();
    const silent = condition('AgentAlive', 'False', 'LeaseExpired', 'it does not renew its Lease');
    await scene.node('node-a', { conditions: [silent] });
    const { text } = await told(scene);
    expect(routes(text)[0]).to.equal('node-a tor-a unknown Established 1m00s agent closed');
  });

  it('tells of an exclusive claim its holder and who leaves, and asks for these nodes alone', async () => {
    const scene = new Scenery();
    await scene.pool({ placement: { mode: 'exclusive', nodeFilter: 'fair', prependStep: 3 } });
    await scene.peers();
    const labels = { [nodeLabel('node-a')]: '1', [nodeLabel('node-b')]: '0' };
    await scene.claim({ node: 'node-b' }, { labels });
    await scene.service([ALLOCATED]);
    for (const name of ['node-a', 'node-b', 'node-c']) await scene.node(name);
    scene.asked.length = 0;
    const { text } = await told(scene);
    expect(text).to.include('exclusive, held by node-b');
    expect(text.replaceAll(/\s+/g, ' ')).to.include('node-a leaving, one step down; node-b holder');
    expect(routes(text)).to.have.lengthOf(4);
    expect(scene.asked).to.include('get ipnodes').and.not.to.include('list ipnodes');
  });

  it('says why a Service waits, and how full the pools are', async () => {
    const scene = new Scenery();
    const full = condition('Exhausted', 'True', 'NoFreeAddress', 'every address of it is taken');
    await scene.pool({}, { total: 256, used: 256, free: 0, conditions: [full] });
    const why = 'pool public has no free address';
    await scene.service([condition('herald.dev/Allocated', 'False', 'PoolExhausted', why)], {}, []);
    const { text } = await told(scene);
    expect(text).to.include(`PoolExhausted for 1m00s: ${why}`);
    expect(text).to.include(
      'Pool public: 256 of 256 addresses are taken, 0 are free; full for 1m00s',
    );
  });

  it('says whose a Service is that is not ours', async () => {
    const words = async (spec: object) => {
      const scene = new Scenery();
      await scene.pool();
      await scene.service([], spec, []);
      return (await told(scene)).answer.services[0]?.allocation.reason;
    };
    expect(await words({ type: 'ClusterIP', loadBalancerClass: undefined })).to.equal(
      'NotALoadBalancer',
    );
    expect(await words({ loadBalancerClass: 'example.com/x' })).to.equal('OtherClass');
    expect(await words({ loadBalancerClass: undefined })).to.equal('NoClass');
    expect(await words({})).to.equal('NotLookedAt');
  });

  it('explains an address: its Services, or that nobody has it and which pool holds it', async () => {
    const scene = await shop();
    await scene.node('node-a');
    const claimed = await told(scene, { kind: 'address', address: address(ADDRESS) });
    expect(claimed.text).to.include('Service shop/web');
    const free = await told(scene, { kind: 'address', address: address('198.51.100.99') });
    expect(free.text.replaceAll(/\s+/g, ' ')).to.include('free in pool public');
    const outside = await told(scene, { kind: 'address', address: address('203.0.113.1') });
    expect(outside.text.replaceAll(/\s+/g, ' ')).to.include('no pool holds it');
  });

  it('does without Nodes where they may not be read, and says so', async () => {
    const fault = ({ resource }: MemoryCall) =>
      resource.plural === 'nodes' && isLooking
        ? ({ kind: 'before', error: new ApiError(403, 'Forbidden', 'no') } as const)
        : undefined;
    let isLooking = false;
    const scene = new Scenery({ fault });
    await scene.pool();
    await scene.peers();
    await scene.claim();
    await scene.service([ALLOCATED]);
    await scene.node('node-a');
    isLooking = true;
    const { text } = await told(scene);
    expect(routes(text)[0]).to.equal('node-a tor-a announced Established 1m00s all open');
    expect(text).to.include('Note: you may not list nodes (Forbidden)');
  });

  it('says plainly that the kinds are not there, or forbidden, or that there is no such Service', async () => {
    const refusal = async (status: number, reason: string) => {
      const error = new ApiError(status, reason, 'no');
      const isOwn = ({ resource }: MemoryCall) => resource.group === 'herald.dev';
      const scene = new Scenery({
        fault: (call) => (isOwn(call) ? { kind: 'before', error } : undefined),
      });
      return await told(scene).catch((found: unknown) => found);
    };
    expect(await refusal(404, 'NotFound')).to.be.instanceOf(CannotLook);
    expect(String(await refusal(404, 'NotFound'))).to.include('Herald is not installed there');
    expect(String(await refusal(403, 'Forbidden'))).to.include('bind the ClusterRole herald-view');
    const scene = new Scenery();
    const missing = await told(scene).catch((found: unknown) => found);
    expect(String(missing)).to.include('there is no Service web in namespace shop');
  });

  it('counts nodes of which all is well, and shows every other', async () => {
    const scene = await shop();
    for (let index = 0; index < 30; index += 1) await scene.node(`node-${100 + index}`);
    await scene.node('node-x', { sessions: [] });
    const { text } = await told(scene);
    expect(text).to.include('and 10 nodes more, of which all is well');
    expect(text).to.include('node-x');
  });

  it('keeps to the width, whatever names there are', async () => {
    const scene = await shop();
    await scene.node(`node-${'long-'.repeat(12)}`, {
      sessions: [session('tor-a', 'Idle', 'x'.repeat(300))],
    });
    const { text } = await told(scene);
    expect(Math.max(...text.split('\n').map((line) => line.length))).to.be.at.most(80);
  });
});
