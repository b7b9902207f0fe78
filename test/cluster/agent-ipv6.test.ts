/**
 * IPv6 from the Service to the router's table (SEEDS H20), by real controllers and agents, judged in BIRD's own table. The sessions run over IPv4, as they do in
 * most clusters: whether one carries IPv6 is up to the router and to a next hop. With node b the router has not agreed on IPv6: its
 * session is up, and what it cannot carry must never be taken for announced.
 */

import { expect } from 'chai';
import { ADVERTISED } from '../../src/controller/advertised.ts';
import { IP_CLAIMS, inNamespace, NODES, SERVICES } from '../../src/sources/kube/resources.ts';
import { type PollOptions, passes, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { type AgentRun, untilIpNode, untilSessionUp } from './support/agent-run.ts';
import { startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { absentAt, BASE, equalAt, FullRun, PATIENT } from './support/full-run.ts';
import { loopbackPeer, nodeSource } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { freePorts } from './support/servers.ts';

const ALL = ['a', 'b', 'c'];
const NEXT_HOP = '2001:db8:ff::1';
const SIX = { ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' };
const BOTH = { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' };
const IN = { matchLabels: { zone: 'in' } };
/** longer than the controller waits for an answer */
const UNANSWERED_MS = 13_000;

/** a neighbour that it has agreed on IPv4 with, and nothing else */
const deaf = (source: string, port: number) => `protocol bgp deaf {
  local 127.0.0.1 port ${port} as 64500;
  neighbor ${source} external;
  multihop; passive yes;
  hold time 9; connect delay time 1; error wait time 1, 1; error forget time 1;
  ipv4 { import all; export none; };
}`;

describe('IPv6, from the Service to the table of a router', function () {
  this.timeout(300_000);
  let world: FullRun;
  let cluster: Cluster;
  let namespace = '';

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyKustomization(BASE);
    const [port = 0] = await freePorts(1);
    const bird = await startBird({
      folder: cluster.folder,
      port,
      more: deaf(nodeSource(ALL.indexOf('b')), port),
    });
    world = new FullRun(cluster, bird, ALL);
    await world.controller('controller');
  });

  beforeEach(async () => {
    namespace = await cluster.namespace();
    for (const node of ALL) await cluster.addNode(node, { labels: { zone: 'in' } });
    await cluster.applyObjects(
      loopbackPeer('bird', world.bird, ALL, { nextHop: { ipv6: NEXT_HOP } }),
    );
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
    // each test has addresses of its own: agents remember on their machines what they announced
    for (const agent of world.agents.values()) await agent.kill();
    world.agents.clear();
    await cluster.reset();
  });

  after(() => world?.stop());

  const zone = (node: string, value: string) =>
    cluster.api.patch(NODES, node, {
      kind: 'merge',
      body: { metadata: { labels: { zone: value } } },
    });
  const service = () => cluster.api.get(inNamespace(SERVICES, namespace), 'web');
  const advertised = async () => {
    const found = conditionOf(await service(), ADVERTISED);
    return { reason: String(at(found, 'reason')), message: String(at(found, 'message')) };
  };
  const says = (...parts: readonly string[]) =>
    untilValue(
      `the Service is PartlyAdvertised and says: ${parts.join(', ')}`,
      advertised,
      ({ reason, message }) =>
        reason === 'PartlyAdvertised' && parts.every((part) => message.includes(part)),
      PATIENT,
    );

  async function serve(spec: typeof SIX): Promise<string[]> {
    await cluster.setEndpoints({ namespace, name: 'web' }, 1, 'IPv4');
    await cluster.setEndpoints({ namespace, name: 'web' }, 1, 'IPv6');
    await cluster.addService({ namespace, name: 'web', spec });
    return await untilValue(
      'the Service has its addresses',
      async () => {
        const ingress = at(await service(), 'status', 'loadBalancer', 'ingress');
        return Array.isArray(ingress) ? ingress.map((each) => String(at(each, 'ip'))) : [];
      },
      (found) => found.length === spec.ipFamilies.length,
      PATIENT,
    );
  }

  const lines = async ({ url }: AgentRun) =>
    (await (await fetch(`${url}/metrics`)).text()).split('\n');

  it('a dual-stack Service: both of its addresses, from every node that can carry them', async () => {
    await cluster.applyObjects(
      poolBody('four', ['198.51.100.0/24']),
      poolBody('six', ['2001:db8:7:1::/120']),
    );
    await Promise.all(ALL.map((node) => world.agent(node)));
    await Promise.all(ALL.map((node) => untilSessionUp({ cluster, node })));
    const addresses = await serve(BOTH);
    const four = addresses.find((each) => !each.includes(':')) ?? '';
    const six = addresses.find((each) => each.includes(':')) ?? '';
    await world.heldBy(four, 'a b c');
    await world.heldBy(six, 'a c');
    const [route] = await world.bird.routes(`${six}/128`);
    expect(route?.nextHop).to.match(new RegExp(`^${NEXT_HOP}`));
    // it says less for as long as not all nodes have told what they do
    await says(
      `${six}: advertised by 2 of 3 nodes to 1 of 1 peer; node b: bird`,
      `${four}: advertised by 3 of 3 nodes to 1 of 1 peer`,
    );
  });

  async function onlyC(address: string, options: PollOptions): Promise<void> {
    const nodes = async () => (await world.paths()).get(address)?.map(({ node }) => node);
    await untilValue('c alone has it', nodes, (found) => found?.join() === 'c', options);
  }

  it('an exclusive address moves from one node to another and is never absent, never there twice alike', async () => {
    const placement = { mode: 'exclusive', nodeSelector: IN };
    await cluster.applyObjects(poolBody('six', ['2001:db8:7:2::/120'], { placement }));
    await world.agent('a');
    const [address = ''] = await serve(SIX);
    await world.heldBy(address, 'a');
    await world.agent('c');
    const sampler = world.sample();
    await zone('a', 'out');
    await onlyC(address, PATIENT);
    const samples = await sampler.stop();
    expect(absentAt(samples, [address]), 'no path at all').to.deep.equal([]);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
  });

  it('a node whose session cannot carry it is not taken for its holder: the old one stays until another has it', async () => {
    const placement = { mode: 'exclusive', nodeSelector: IN };
    await cluster.applyObjects(poolBody('six', ['2001:db8:7:3::/120'], { placement }));
    await world.agent('a');
    const [address = ''] = await serve(SIX);
    await world.heldBy(address, 'a');
    const b = await world.agent('b');
    const sampler = world.sample();
    await zone('a', 'out');
    const sentence =
      'ipv6 unicast was not agreed on with the neighbour; turn on ipv6 for this neighbour at the router';
    // until its session is up it has another reason
    const { status } = await untilIpNode({ cluster, node: 'b' }, 'it refuses it', (found) =>
      (found.status.refused ?? []).some(
        (each) => each.address === address && each.message.includes(sentence),
      ),
    );
    expect(status.refused).to.deep.equal([
      { address, gate: 'allowed', message: `bird: ${sentence}` },
    ]);
    expect(status.routes).to.equal(0);
    expect(status.levels ?? []).to.deep.equal([]);
    expect(status.sessions?.[0]?.cannotCarry).to.deep.equal([
      { family: 'ipv6', message: sentence },
    ]);
    expect(await lines(b)).to.include('herald_claims_announced 0');
    await passes(UNANSWERED_MS);
    expect((await world.paths()).get(address)?.map(({ node }) => node)).to.deep.equal(['a']);
    await says(
      'advertised by node a to 1 of 1 peer until another does',
      `node b: bird: ${sentence}`,
    );
    await world.agent('c');
    await onlyC(address, { timeoutMs: 120_000 });
    const samples = await sampler.stop();
    expect(absentAt(samples, [address]), 'no path at all').to.deep.equal([]);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
    await untilValue(
      'the claim is of c alone',
      async () =>
        (await cluster.api.list(IP_CLAIMS)).items.map((claim) => at(claim, 'spec', 'node')),
      (found) => found.join() === 'c',
      PATIENT,
    );
  });
});
