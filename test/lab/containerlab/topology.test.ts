/**
 * The topology file in a real containerlab, with no help from the lab's own runner: deployed, looked at from the far side, destroyed, and the
 * machine is as it was. It needs root, and takes about a minute once containerlab and the images are there.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ContainerlabLab, removeLeftOvers } from '../../../lab/clab/containerlab.ts';
import {
  cgroupsOf,
  differences,
  lookAtMachine,
  type Machine,
  processesOf,
} from '../../../lab/clab/machine.ts';
import { containerlabProgram } from '../../../lab/clab/program.ts';
import type { Container } from '../../../lab/clab/words.ts';
import { type Docker, startDocker } from '../../../lab/docker/docker.ts';
import { ensureRouterImage } from '../../../lab/images/router-image.ts';
import { fromBird } from '../../../lab/scenarios/router-tables.ts';
import { buildImage } from '../../../tools/image/build.ts';
import { entries, field, items, parseJson, text } from '../../interop/routers/json.ts';
import { untilValue } from '../../support/poll.ts';
import { skipWithoutContainerlab } from '../support/require-containerlab.ts';

const root = join(import.meta.dirname, '../../..');
const topology = join(root, 'lab/topology.clab.yml');
const name = 'herald';
const nodes = ['n1', 'n2', 'n3'];
const machines = ['client', 'spine', 'tor1', 'tor2', ...nodes];
const requests = 60;
const bound = { timeoutMs: 60_000, everyMs: 300 };

const services = [
  {
    family: 'ip',
    prefix: '192.0.2.80/32',
    url: 'http://192.0.2.80/',
    client: '10.0.0.2',
    gateway: '10.0.0.1',
    hops: {
      spine: ['10.0.1.2', '10.0.2.2'],
      tor1: ['10.1.0.11', '10.1.0.12'],
      tor2: ['10.2.0.13'],
    },
  },
  {
    family: 'ipv6',
    prefix: '2001:db8:64::80/128',
    url: 'http://[2001:db8:64::80]/',
    client: 'fd00::2',
    gateway: 'fd00::1',
    hops: {
      spine: ['fd00:0:1::2', 'fd00:0:2::2'],
      tor1: ['fd00:1::11', 'fd00:1::12'],
      tor2: ['fd00:2::13'],
    },
  },
] as const;

describe('the lab in a real containerlab', function () {
  this.timeout(900_000);
  const say = (sentence: string) => process.stderr.write(`    ${sentence}\n`);
  let docker: Docker;
  let lab: ContainerlabLab;
  let machine: Machine;
  let containers: readonly Container[] = [];
  const undo: (() => Promise<void>)[] = [];

  /** Also after Ctrl-C, which fails the test as well: the namespaces and files of containerlab outlive its containers. */
  let cleaning: Promise<void> | undefined;
  const cleanUp = () => {
    cleaning ??= (async () => {
      for (let last = undo.pop(); last !== undefined; last = undo.pop()) await last();
    })();
    return cleaning;
  };
  const onSignal = () => void cleanUp().finally(() => process.exit(130));

  before(async function () {
    skipWithoutContainerlab(this);
    process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
    const program = await containerlabProgram((sentence) => say(`containerlab: ${sentence}`));
    // one of our own: nobody else's images, labs and networks are touched
    docker = await startDocker({ own: true, say });
    undo.push(() => docker.stop());
    await haveImages(docker, say);
    removeLeftOvers(name);
    machine = await lookAtMachine(docker);
    lab = new ContainerlabLab({ program, docker, topology, name });
    undo.push(() => lab.destroy());
    const started = performance.now();
    await lab.deploy();
    say(`deployed in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    containers = await lab.containers();
  });

  after(async () => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    await cleanUp();
  });

  it('runs every node of the file, and Herald beside each of the three', () => {
    const expected = [...machines, ...nodes.map((node) => `${node}-herald`)];
    expect(containers.map((each) => each.name)).to.have.members(
      expected.map((node) => `clab-${name}-${node}`),
    );
    expect(containers.filter(({ isRunning }) => !isRunning)).to.deep.equal([]);
  });

  it('has no privileged container', () => {
    expect(containers).to.not.be.empty;
    expect(containers.filter(({ isPrivileged }) => isPrivileged)).to.deep.equal([]);
  });

  it('gives Herald one capability besides those of every container', () => {
    const agents = containers.filter((each) => each.name.endsWith('-herald'));
    expect(agents.map(({ addedCapabilities }) => addedCapabilities)).to.deep.equal(
      nodes.map(() => ['NET_ADMIN']),
    );
  });

  for (const { family, prefix, url, client, gateway, hops } of services) {
    it(`has ${prefix} with these next hops in every router: in its own table and in its kernel`, async () => {
      for (const [router, wanted] of Object.entries(hops)) {
        const own = () => (router === 'spine' ? birdHops(prefix) : frrHops(router, family, prefix));
        const isWanted = (seen: readonly string[]) => seen.join() === wanted.join();
        await untilValue(`${router} has ${prefix}`, own, isWanted, bound);
        await untilValue(`${router} routes ${prefix}`, () => kernelHops(router, prefix), isWanted);
      }
    });

    it(`leads the client to ${prefix} through the spine and a ToR, and over no other way`, async () => {
      const [address = ''] = prefix.split('/');
      expect(await whoAnswers(address, 1)).to.equal(gateway);
      expect(await whoAnswers(address, 2)).to.be.oneOf([...hops.spine]);
      expect(await whoAnswers(address, 3)).to.equal(address);
    });

    it(`has ${url} answer the client, by all three nodes`, async () => {
      const ask = `for i in $(seq ${requests}); do curl --silent --show-error --max-time 5 '${url}'; done`;
      const answers = (await lab.exec('client', ['sh', '-c', ask])).trim().split('\n');
      expect(answers).to.have.length(requests);
      // each names the client as it is: nothing on the way has changed its address
      expect([...new Set(answers)].sort()).to.deep.equal(
        nodes.map((node) => `${node} answers ${client}`),
      );
    });
  }

  it('leaves nothing behind when it is destroyed', async () => {
    for (const found of [processesOf(containers), cgroupsOf(containers)])
      expect(found).to.have.length.of.at.least(containers.length);
    expect(differences(machine, await lookAtMachine(docker))).to.include.members([
      'new namespace: clab-herald-n1',
      'new container: clab-herald-n1-herald',
    ]);
    const started = performance.now();
    undo.pop();
    await lab.destroy();
    say(`destroyed in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    const left = async () => [
      ...differences(machine, await lookAtMachine(docker)),
      ...processesOf(containers).map((pid) => `process ${pid}`),
      ...cgroupsOf(containers).map((path) => `cgroup ${path}`),
    ];
    await untilValue('the machine is as it was', left, (lines) => lines.length === 0);
  });

  /** Who says something about a packet of the client that may pass so many machines. */
  async function whoAnswers(address: string, machinesPassed: number): Promise<string> {
    // a packet that ends on its way is a failure to ping, and an answer to us
    const ping = `ping -n -c 1 -W 5 -t ${machinesPassed} ${address} || true`;
    const said = await lab.exec('client', ['sh', '-c', ping]);
    return /[Ff]rom (\S+?):? icmp_seq/.exec(said)?.[1] ?? said;
  }

  async function frrHops(router: string, family: string, prefix: string): Promise<string[]> {
    const said = await lab.exec(router, ['vtysh', '-c', `show ${family} route ${prefix} json`]);
    return entries(parseJson(said))
      .flatMap(([, routes]) => items(routes))
      .filter((route) => field(route, 'selected') === true)
      .flatMap((route) => items(field(route, 'nexthops')))
      .filter((hop) => field(hop, 'fib') === true)
      .map((hop) => text(field(hop, 'ip')))
      .sort();
  }

  async function birdHops(prefix: string): Promise<string[]> {
    const said = await lab.exec('spine', ['birdc', 'show', 'route', 'for', prefix, 'all']);
    return fromBird(prefix, said).paths.map(({ nextHop }) => nextHop);
  }

  async function kernelHops(router: string, prefix: string): Promise<string[]> {
    const show = ['ip', '-j', prefix.includes(':') ? '-6' : '-4', 'route', 'show', prefix];
    const routes = items(parseJson(await lab.exec(router, show)));
    const hops = routes.flatMap((route) => {
      const several = items(field(route, 'nexthops'));
      return several.length > 0 ? several : [route];
    });
    return hops.map((hop) => text(field(hop, 'gateway'))).sort();
  }
});

/** Those that the topology names when nobody asks for others. */
async function haveImages(docker: Docker, say: (sentence: string) => void): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  await ensureRouterImage(docker, say);
  await buildImage(docker, { image: `herald:${version}`, say });
}
