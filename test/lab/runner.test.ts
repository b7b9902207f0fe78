/**
 * The topology file in network namespaces: up, looked at from the far side, broken, taken away, and the machine is as it was. It needs
 * root, FRR and BIRD, and takes about a minute.
 */

import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { differences, type Machine } from '../../lab/clab/machine.ts';
import { namespacesOf, tearDown } from '../../lab/runner/down.ts';
import { leftOvers } from '../../lab/runner/left-overs.ts';
import { readTopology } from '../../lab/runner/read.ts';
import { testLabName } from '../../lab/runner/test-labs.ts';
import { bringUp, type RunningLab } from '../../lab/runner/up.ts';
import { skipWithoutLab } from '../interop/require-lab.ts';
import { field, items, parseJson, text } from '../interop/routers/json.ts';
import { untilValue } from '../support/poll.ts';
import { lookAtLabMachine } from './support/lab-machine.ts';

const root = join(import.meta.dirname, '../..');
const runner = join(root, 'lab/runner/lab');
const topology = join(root, 'lab/topology.clab.yml');
const requests = 60;
const holdMs = 9_000;
/** Routers look at their timers when they come to it, BIRD up to 3 s late by design, and their kernel is told after that; without a hold time it is never. */
const lateMs = 20_000;
/** for what takes a second or two on a machine that has nothing else to do */
const soonMs = 30_000;

const services = [
  {
    address: '192.0.2.80',
    url: 'http://192.0.2.80/',
    hops: {
      spine: ['10.0.1.2', '10.0.2.2'],
      tor1: ['10.1.0.11', '10.1.0.12'],
      tor2: ['10.2.0.13'],
    },
  },
  {
    address: '2001:db8:64::80',
    url: 'http://[2001:db8:64::80]/',
    hops: {
      spine: ['fd00:0:1::2', 'fd00:0:2::2'],
      tor1: ['fd00:1::11', 'fd00:1::12'],
      tor2: ['fd00:2::13'],
    },
  },
] as const;

/** The runner as a person runs it; resolves when it ends. */
function runLab(
  args: readonly string[],
  onLine: (line: string, pid: number) => void = () => undefined,
) {
  return new Promise<{ readonly status: number | null; readonly said: string }>(
    (resolve, reject) => {
      const child = spawn(runner, args, { stdio: ['ignore', 'ignore', 'pipe'] });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        said += chunk;
        for (const line of chunk.trim().split('\n')) onLine(line, child.pid ?? -1);
      });
      child.on('error', reject);
      child.on('close', (status) => resolve({ status, said }));
    },
  );
}

const unlinkNamespace = (namespace: string) => execFileSync('ip', ['netns', 'delete', namespace]);

describe('the lab in network namespaces', function () {
  this.timeout(180_000);
  const name = testLabName('runner', process.pid);
  let before_: Machine;
  let lab: RunningLab;

  const differencesSinceBefore = () => [
    ...differences(before_, lookAtLabMachine(name)),
    ...leftOvers(name),
  ];
  const expectNothingLeft = () =>
    untilValue('the machine is as it was', differencesSinceBefore, (lines) => lines.length === 0);

  before(async function () {
    skipWithoutLab(this, ['bird', 'frr']);
    before_ = lookAtLabMachine(name);
    lab = await bringUp(readTopology(topology, {}), { name, say: () => undefined });
  });

  after(async () => {
    await tearDown(name);
  });

  const kernelHops = async (node: string, address: string) => {
    const show = ['ip', '-j', address.includes(':') ? '-6' : '-4', 'route', 'show', address];
    const { stdout } = await lab.exec(node, show);
    const hops = items(parseJson(stdout || '[]')).flatMap((route) => {
      const several = items(field(route, 'nexthops'));
      return several.length > 0 ? several : [route];
    });
    return hops.map((hop) => text(field(hop, 'gateway'))).sort();
  };
  const untilHops = (node: string, address: string, wanted: readonly string[], timeoutMs: number) =>
    untilValue(
      `${node} routes ${address} to ${wanted.join(' and ')}`,
      () => kernelHops(node, address),
      (seen) => seen.join() === wanted.join(),
      { timeoutMs, everyMs: 100 },
    );
  /** Who answered, over many connections from as many ports. */
  const answers = async (url: string) => {
    const ask = `for i in $(seq ${requests}); do curl --silent --show-error --max-time 5 '${url}'; done`;
    const { stdout } = await lab.exec('client', ['sh', '-c', ask]);
    const lines = stdout.trim().split('\n');
    expect(lines).to.have.length(requests);
    return [...new Set(lines.map((line) => line.split(' ')[0] ?? ''))].sort();
  };
  const pidOf = (node: string) => {
    const pid = lab.nodes.get(node)?.pid;
    if (pid === undefined) throw new Error(`${node} has no process`);
    return pid;
  };

  it('tells where everything is', () => {
    expect(lab.nodes.get('n1')).to.deep.include({
      namespace: `lab.${name}.n1`,
      addresses: ['10.1.0.11/24', 'fd00:1::11/64'],
    });
    expect(lab.nodes.get('n1-herald')?.namespace).to.equal(`lab.${name}.n1`);
    expect(namespacesOf(name)).to.have.length(7);
  });

  it('gives Herald no more capabilities than its container would have', () => {
    const status = readFileSync(`/proc/${pidOf('n1-herald')}/status`, 'utf8');
    const set = BigInt(`0x${/CapBnd:\s+(\S+)/.exec(status)?.[1]}`);
    const has = (capability: number) => (set & (1n << BigInt(capability))) !== 0n;
    // NET_ADMIN is 12, SYS_ADMIN 21
    expect([has(12), has(21)]).to.deep.equal([true, false]);
  });

  for (const { address, url, hops } of services) {
    it(`has ${address} with several next hops in the kernels of the spine and of tor1`, async () => {
      await untilHops('tor1', address, hops.tor1, soonMs);
      // told to the spine before its own kernel has it: who asks now would go in circles
      await untilHops('tor2', address, hops.tor2, soonMs);
      await untilHops('spine', address, hops.spine, soonMs);
    });

    it(`leads the client to ${url}, and all three nodes answer it`, async () => {
      expect(await answers(url)).to.deep.equal(['n1', 'n2', 'n3']);
    });
  }

  it('refuses to be brought up twice, and the first is not disturbed', async () => {
    const { status, said } = await runLab(['up', '--name', name]);
    expect(status).to.equal(1);
    expect(said).to.match(new RegExp(`^lab: the lab ${name} is up since .*; take it away first`));
    expect(await answers(services[0].url)).to.deep.equal(['n1', 'n2', 'n3']);
  });

  it('has no web server in a node, and so no route to it, until it is back', async () => {
    await lab.exec('n2', ['pkill', '-f', 'answer.pl']);
    await untilHops('tor1', '192.0.2.80', ['10.1.0.11'], soonMs);
    expect(await answers(services[0].url)).to.deep.equal(['n1', 'n3']);
    await lab.exec('n2', ['perl', '/opt/web/answer.pl', 'n2']);
    await untilHops('tor1', '192.0.2.80', ['10.1.0.11', '10.1.0.12'], soonMs);
  });

  it('loses the route of an agent that freezes after the hold time, and has it again when it goes on', async () => {
    process.kill(pidOf('n1-herald'), 'SIGSTOP');
    await untilHops('tor1', '192.0.2.80', ['10.1.0.12'], holdMs + lateMs);
    process.kill(pidOf('n1-herald'), 'SIGCONT');
    await untilHops('tor1', '192.0.2.80', ['10.1.0.11', '10.1.0.12'], soonMs);
  });

  it('loses the route of an agent that is killed, by the hold time at the latest, and the client asks the others', async () => {
    const { status } = await runLab(['kill', '--name', name, 'n3-herald']);
    expect(status).to.equal(0);
    await untilHops('spine', '192.0.2.80', ['10.0.1.2'], holdMs + lateMs);
    // rack 2 itself now goes to rack 1
    await untilHops('tor2', '192.0.2.80', ['10.0.2.1'], holdMs + lateMs);
    expect(await answers(services[0].url)).to.deep.equal(['n1', 'n2']);
  });

  it('starts a program again that has ended, and no other', async () => {
    expect((await runLab(['start', '--name', name, 'n3-herald'])).status).to.equal(0);
    await untilHops('spine', '192.0.2.80', services[0].hops.spine, soonMs);
    const { status, said } = await runLab(['start', '--name', name, 'n3-herald']);
    expect(status).to.equal(1);
    expect(said).to.equal('lab: n3-herald is running\n');
  });

  it('leaves nothing behind when it is taken away', async () => {
    expect(differencesSinceBefore()).to.include(`new namespace: lab.${name}.n1`);
    expect(leftOvers(name).filter((each) => each.startsWith('process'))).to.not.be.empty;
    const { status, said } = await runLab(['down', '--name', name]);
    expect(said).to.match(/nothing is left/);
    expect(status).to.equal(0);
    await expectNothingLeft();
  });

  for (const moment of ['namespaces', 'containers', 'commands', 'waiting']) {
    it(`leaves nothing behind when Ctrl-C comes after the line about ${moment}`, async () => {
      const { status, said } = await runLab(['up', '--name', name], (line, pid) => {
        if (line.includes(moment)) process.kill(pid, 'SIGINT');
      });
      expect(said).to.match(/broken off by SIGINT/);
      expect(status).to.equal(130);
      await expectNothingLeft();
    });
  }

  it('tells of a lab that a crash has left half up, and takes it away', async () => {
    await runLab(['up', '--name', name], (line, pid) => {
      if (line.includes('commands')) process.kill(pid, 'SIGKILL');
    });
    expect(namespacesOf(name)).to.not.be.empty;
    const again = await runLab(['up', '--name', name]);
    expect(again.said).to.match(/was never brought up completely/);
    expect(again.status).to.equal(1);
    const { status } = await runLab(['down', '--name', name]);
    expect(status).to.equal(0);
    await expectNothingLeft();
  });

  it('takes away processes whose namespaces have lost their names', async () => {
    await bringUp(readTopology(topology, {}), { name, say: () => undefined });
    for (const each of namespacesOf(name)) unlinkNamespace(each);
    expect(leftOvers(name).filter((each) => each.startsWith('process'))).to.not.be.empty;
    const { status } = await runLab(['down', '--name', name]);
    expect(status).to.equal(0);
    await expectNothingLeft();
  });

  it("makes only the network of nodes whose programs are somebody else's", async () => {
    const withoutPrograms = new Set(['n1', 'n1-herald', 'n2', 'n2-herald', 'n3', 'n3-herald']);
    const other = await bringUp(readTopology(topology, {}), {
      name,
      say: () => undefined,
      withoutPrograms,
    });
    try {
      expect(other.nodes.get('n1')).to.deep.include({
        addresses: ['10.1.0.11/24', 'fd00:1::11/64'],
      });
      expect(other.nodes.get('n1')?.pid).to.equal(undefined);
      // its own BGP port is what a ToR always answers on
      const connect = ['timeout', '1', 'bash', '-c', '</dev/tcp/10.2.0.1/179'];
      const way = async () => (await other.exec('n1', connect, { anyStatus: true })).status;
      await untilValue('n1 reaches the other rack', way, (status) => status === 0, {
        timeoutMs: 30_000,
      });
    } finally {
      await other.down();
    }
    await expectNothingLeft();
  });
});
