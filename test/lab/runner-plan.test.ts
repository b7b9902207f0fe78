import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type PlanOptions, plan } from '../../lab/runner/plan.ts';
import { parseTopology } from '../../lab/runner/topology.ts';

const file = readFileSync(join(import.meta.dirname, '../../lab/topology.clab.yml'), 'utf8');
const options: PlanOptions = { name: 'x', folder: '/lab', checkout: { root: '/checkout' } };
const planOf = (more: Partial<PlanOptions> = {}, text = file) =>
  plan(parseTopology(text, {}), { ...options, ...more });

describe('the plan of a lab', () => {
  it('has a namespace per network and none for an agent', () => {
    const { namespaces } = planOf();
    expect(namespaces.map(({ namespace }) => namespace)).to.deep.equal([
      ...[
        'lab.x.client',
        'lab.x.spine',
        'lab.x.tor1',
        'lab.x.n1',
        'lab.x.n2',
        'lab.x.tor2',
        'lab.x.n3',
      ],
    ]);
    expect(namespaces[1]?.sysctls).to.include('net.ipv4.fib_multipath_hash_fields=55');
  });

  it("starts an agent in the network of its node, with its files and Docker's capabilities and NET_ADMIN", () => {
    const agent = planOf().containers.find(({ node }) => node === 'n1-herald');
    const words = agent?.argv ?? [];
    expect(words.slice(0, 2)).to.deep.equal(['nsenter', '--net=/run/netns/lab.x.n1']);
    expect(words.join(' ')).to.include(
      '/checkout/lab/runner/container.sh n1 ro /lab/configs/n1 /etc/herald -- setpriv ',
    );
    const set = words.find((word) => word.startsWith('--bounding-set='));
    expect(set).to.include('-all,').and.include('+net_admin').and.include('+net_bind_service');
    expect(set).to.not.include('sys_admin');
    expect(words.slice(words.lastIndexOf('--') + 1)).to.deep.equal([
      ...['/checkout/dist/herald', 'agent', '--source', 'files:/etc/herald'],
      ...['--node-name', 'n1', '--join-check', 'none'],
    ]);
    expect(agent?.needs.map((need) => need.file)).to.deep.equal([
      '/checkout/dist/herald',
      '/lab/configs/n1',
    ]);
  });

  it('starts what the image would, or what the file says in its place', () => {
    const router = '/checkout/lab/images/router/start-router';
    const programOf = (text: string) => {
      const words = planOf({}, text).containers.find(({ node }) => node === 'spine')?.argv ?? [];
      return words.slice(words.lastIndexOf('--') + 1);
    };
    const withLines = (lines: string) => file.replace('    spine:\n', `    spine:\n${lines}`);
    expect(programOf(file)).to.deep.equal([router]);
    expect(programOf(withLines('      cmd: sleep 9\n'))).to.deep.equal(['sleep', '9']);
    expect(programOf(withLines('      entrypoint: sh\n'))).to.deep.equal(['sh']);
  });

  it('takes nothing from a privileged container', () => {
    const { containers } = planOf(
      {},
      file.replace('    privileged: false', '    privileged: true'),
    );
    expect(containers.flatMap(({ argv }) => argv)).to.not.include('setpriv');
  });

  it("makes only the network of nodes whose programs are somebody else's", () => {
    const withoutPrograms = new Set(['n1', 'n1-herald']);
    const all = planOf();
    const some = planOf({ withoutPrograms });
    expect(some.namespaces).to.deep.equal(all.namespaces);
    expect(some.links).to.deep.equal(all.links);
    expect(some.containers.map(({ node }) => node)).to.deep.equal(
      all.containers.map(({ node }) => node).filter((node) => !withoutPrograms.has(node)),
    );
    const commands = some.commands.filter(({ node }) => node === 'n1');
    expect(commands.map(({ argv }) => argv[0])).to.deep.equal(['ip', 'ip', 'ip', 'ip']);
    expect(commands.every(({ inContainer }) => !inContainer)).to.equal(true);
  });

  it('refuses what cannot be done in network namespaces', () => {
    const frr = file.replace('herald-lab/router:local', 'registry.example/frrouting/frr:10.4.1');
    expect(() => planOf({}, frr)).to.throw(
      /^topology\.nodes\.client\.image: registry\.example\/frrouting/,
    );
    const root = file.replace(':/etc/herald:ro', ':/herald:ro');
    expect(() => planOf({}, root)).to.throw(
      /^topology\.nodes\.n1-herald\.binds: \/herald is not below/,
    );
    expect(() => planOf({ name: 'a.b' })).to.throw(/^a lab's name/);
    expect(() => planOf({ withoutPrograms: new Set(['n9']) })).to.throw('there is no node n9');
  });
});
