import { expect } from 'chai';
import {
  controlNamespace,
  hostInterface,
  nodeNetworkLines,
  planCluster,
  serverNetworkLines,
} from '../../lab/cluster/plan.ts';

const PLACES = ['n1', 'n2', 'n3'].map((name) => ({ name, netns: `lab-${name}`, labels: {} }));

describe('the plan of the lab cluster', () => {
  it('gives every node an address and subnets of its own', () => {
    const plan = planCluster('lab', PLACES, '');
    expect(plan.nodes.map(({ address }) => address.ipv4)).to.deep.equal([
      '198.18.200.11',
      '198.18.200.12',
      '198.18.200.13',
    ]);
    expect(plan.nodes.map(({ pods }) => pods)).to.deep.equal([
      { ipv4: '10.244.1.0/24', ipv6: 'fd00:244:1::/64' },
      { ipv4: '10.244.2.0/24', ipv6: 'fd00:244:2::/64' },
      { ipv4: '10.244.3.0/24', ipv6: 'fd00:244:3::/64' },
    ]);
    expect(plan.server).to.deep.equal({ ipv4: '198.18.200.1', ipv6: 'fd00:18:200::1' });
  });

  it('takes a management network that this machine does not have', () => {
    const taken =
      '198.18.200.0/24 dev hl-other proto kernel\nlocal 198.18.201.254 dev hl-third table local';
    expect(planCluster('lab', PLACES, taken).host).to.equal('198.18.202.254');
  });

  it('says so when there is none', () => {
    const taken = Array.from({ length: 20 }, (_, index) => `198.18.${200 + index}.0/24`).join('\n');
    expect(() => planCluster('lab', PLACES, taken)).to.throw('all in use');
  });

  it('refuses a name that is too long for an interface, and a cluster without nodes', () => {
    expect(() => planCluster('a-very-long-name', PLACES, '')).to.throw('no name for a cluster');
    expect(() => planCluster('Lab', PLACES, '')).to.throw('no name for a cluster');
    expect(() => planCluster('lab', [], '')).to.throw('1 to 200 nodes');
    expect(hostInterface('eleven-char').length).to.be.lessThan(16);
  });

  it('routes the pods of the other nodes, and not its own, over the management network', () => {
    const plan = planCluster('lab', PLACES, '');
    const [first] = plan.nodes;
    if (first === undefined) throw new Error('no node');
    const lines = nodeNetworkLines(plan, first);
    expect(lines).to.include('route replace 10.244.2.0/24 via 198.18.200.12');
    expect(lines).to.include('route replace fd00:244:3::/64 via fd00:18:200::13');
    expect(lines.join()).to.not.include('10.244.1.0/24');
    expect(lines).to.include('route replace 10.96.0.0/16 via 198.18.200.1 src 198.18.200.11');
    expect(serverNetworkLines(plan)).to.include('route replace 10.244.1.0/24 via 198.18.200.11');
  });

  it('knows what to remove from the name alone', () => {
    const plan = planCluster('lab', PLACES, '');
    expect([plan.netns, plan.hostInterface]).to.deep.equal([
      controlNamespace('lab'),
      hostInterface('lab'),
    ]);
  });
});
