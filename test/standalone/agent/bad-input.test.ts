/**
 * Each thing that a person or a machine can get wrong: one sentence that says what to do, where the user looks, and everything else
 * keeps running. The truth about "keeps running" is the router's table.
 */

import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AgentStatus } from '../../../src/agent/status.ts';
import { ControlClient } from '../../../src/control/client.ts';
import { documentText } from '../../support/document.ts';
import { untilValue } from '../../support/poll.ts';
import { heraldProgram } from '../support/herald-program.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AgentLab, claim, NODE_ADDRESS, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';
const OTHER = '198.51.100.11';

describe('standalone: bad input', function () {
  this.timeout(180_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('badin');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  /** the VIP is announced, and stays so whatever `bad` adds */
  async function beside(bad: Readonly<Record<string, readonly string[]>>): Promise<void> {
    lab.write({ 'base.yaml': [peer(), pool()], 'vip.yaml': [claim(VIP)], ...bad });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
  }

  const says = (wanted: RegExp, pick: (status: AgentStatus) => readonly string[]) =>
    untilValue(
      `a sentence like ${wanted}`,
      async () => pick(await lab.status()),
      (all) => all.some((sentence) => wanted.test(sentence)),
    );
  const faults = ({ faults: all }: AgentStatus) =>
    all.map(({ file, line, sentence }) => `${file}:${line} ${sentence}`);
  const gates = ({ claims }: AgentStatus) =>
    claims.flatMap((one) =>
      one.peers.flatMap(({ gates: all }) =>
        all.map(
          (gate) =>
            `${one.address} ${gate.name} ${gate.state}: ${gate.sentence}; ${gate.remedy ?? ''}`,
        ),
      ),
    );

  it('unknown kind, and an IPNode', async () => {
    await beside({
      'a.yaml': [documentText('IPClam', OTHER, {})],
      'b.yaml': [documentText('IPNode', 'm1', {})],
    });
    await says(/a\.yaml:1 .*IPClam.*IPClaim/s, faults);
    await says(/b\.yaml:1 .*IPNode/, faults);
    await lab.announces([VIP]);
  });

  it('wrong field', async () => {
    await beside({ 'a.yaml': [claim(OTHER, { chekcs: [] })] });
    await says(/a\.yaml:\d+ .*chekcs.*checks/s, faults);
    await lab.announces([VIP]);
  });

  it('a List of a thousand refused items: the session stays, and what is good comes (A5)', async () => {
    await beside({});
    const since = await lab.upSince();
    const item = (index: number) =>
      `- apiVersion: herald.dev/v1alpha1\n  kind: IPClaim\n  metadata: {name: 198.51.100.${index % 250}}\n  spec: {chekcs: []}\n`;
    const items = Array.from({ length: 1000 }, (_, index) => item(index));
    lab.write({
      'a.yaml': [`apiVersion: v1\nkind: List\nitems:\n${items.join('')}`],
      'b.yaml': [claim(OTHER)],
    });
    await lab.announces([VIP, OTHER], 120_000);
    await says(/a\.yaml:7 .*chekcs.*checks/s, faults);
    expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
  });

  it('overlapping pools: the later one is refused and names the other', async () => {
    await beside({
      'z.yaml': [documentText('IPPool', 'zz-again', { addresses: ['198.51.100.128/25'] })],
    });
    await says(/z\.yaml:\d+ .*vips/s, faults);
    await lab.announces([VIP]);
  });

  it('claim outside every pool', async () => {
    await beside({ 'a.yaml': [claim('203.0.113.9')] });
    await says(/203\.0\.113\.9 allowed closed: .*in no pool; .*IPPool/, gates);
    await lab.announces([VIP]);
  });

  it("a claim that is the node's own address", async () => {
    const own = documentText('IPPool', 'own', { addresses: ['10.50.0.0/24'] });
    await beside({ 'a.yaml': [own, claim(NODE_ADDRESS, { bind: { interface: 'lo' } })] });
    await says(/10\.50\.0\.2 allowed closed: .*own address/, gates);
    await lab.announces([VIP]);
    expect(await lab.addressesOn(lab.device)).to.include(NODE_ADDRESS);
    expect(await lab.addressesOn('lo')).to.not.include(NODE_ADDRESS);
  });

  it('unreadable password file: that session stays down and follows when the file comes', async () => {
    const key = join(lab.node.folder, 'late-key');
    const locked = documentText('BGPPeer', 'locked', {
      address: '10.50.0.66',
      asn: 64999,
      localASN: 64512,
      password: { file: key },
    });
    await beside({ 'locked.yaml': [locked] });
    const sessions = (status: AgentStatus) =>
      status.sessions.map((each) => `${each.peer} ${each.state} ${each.refused ?? ''}`);
    await says(/locked refused .*late-key.*ENOENT.*stays down/, sessions);
    await lab.node.exec('mkfifo', [key]);
    await says(/locked refused .*late-key.*it is not a file/, sessions);
    rmSync(key);
    writeFileSync(key, 'opensesame');
    await says(/locked (idle|connect|active)/, sessions);
    await lab.announces([VIP]);
  });

  it('two ranges of the same addresses: one is refused, and whatever is taken back leaves the router', async () => {
    const ranged = (name: string, spec: object = {}) =>
      documentText('BGPPeer', name, {
        addressRange: '10.60.0.0/24',
        asn: 64999,
        localASN: 64512,
        listen: true,
        ...spec,
      });
    const flag = join(lab.node.folder, 'serving');
    writeFileSync(flag, '');
    const nodeSelector = { matchLabels: { 'kubernetes.io/hostname': 'm1' } };
    lab.write({
      'base.yaml': [peer(), pool()],
      'ranges.yaml': [ranged('racks'), ranged('rack-a', { nodeSelector })],
      'vip.yaml': [claim(VIP)],
      'other.yaml': [claim(OTHER)],
      'checked.yaml': [claim('198.51.100.12', { checks: [{ file: { path: flag } }] })],
    });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP, OTHER, '198.51.100.12']);
    // of two that come together the first by name counts
    await says(/racks refused .*same addressRange as BGPPeer rack-a.*remove one/, (status) =>
      status.sessions.map((each) => `${each.peer} ${each.state} ${each.refused ?? ''}`),
    );
    rmSync(flag);
    await lab.announces([VIP, OTHER]);
    lab.remove('other.yaml');
    await lab.announces([VIP]);
    const drained = await lab.control().drain();
    expect(drained.ok).to.equal(true);
    await lab.announces([]);
  });

  it('port 179 taken: a sentence, dialled sessions run, and it listens when the port is free', async () => {
    const squatter = lab.node.spawn('squatter', process.execPath, [
      '-e',
      "require('net').createServer().listen(179, '0.0.0.0')",
    ]);
    await untilValue(
      'the port is taken',
      async () => (await lab.node.exec('ss', ['-Hltn', 'sport', '=', ':179'])).stdout,
      (text) => text.trim() !== '',
    );
    const listening = documentText('BGPPeer', 'caller', {
      address: '10.50.0.55',
      asn: 64999,
      localASN: 64512,
      listen: true,
    });
    await beside({ 'caller.yaml': [listening] });
    await says(/179.*ss -ltnp.*--listen-port/, ({ warnings }) => warnings);
    await lab.announces([VIP]);
    await squatter.kill();
    await untilValue(
      'no warning',
      async () => (await lab.status()).warnings.filter((text) => text.includes('179')),
      (all) => all.length === 0,
      { timeoutMs: 60_000 },
    );
    await lab.announces([VIP]);
  });

  it('a second agent on this host refuses to run and says who has the place; the first notices nothing', async () => {
    await beside({});
    const before = await lab.upSince();
    const second = await lab.node.exec(
      heraldProgram(),
      [
        'agent',
        '--source',
        `files:${lab.documents}`,
        '--socket',
        lab.socket,
        '--state-dir',
        join(lab.node.folder, 'second'),
      ],
      { anyStatus: true },
    );
    expect(second.status).to.equal(1);
    expect(second.stderr).to.match(/agent/).and.to.contain(String(lab.agent.pid));
    await lab.announces([VIP]);
    expect(await lab.upSince()).to.be.closeTo(before, SAME_SESSION_MS);
  });

  it('a second agent with another socket leaves the addresses alone and says whose they are; when the first ends it takes over', async () => {
    const bound = { bind: { interface: 'lo' } };
    lab.write({ 'base.yaml': [peer(), pool()], 'vip.yaml': [claim(VIP, bound)] });
    lab.ready(true);
    const first = lab.start();
    await lab.announces([VIP]);
    const socket = join(lab.node.folder, 'second.sock');
    const second = lab.node.spawn('second', heraldProgram(), [
      'agent',
      ...['--source', `files:${lab.documents}`, '--node-name', 'm2', '--socket', socket],
      ...['--state-dir', join(lab.node.folder, 'second'), '--join-check', 'none'],
    ]);
    const asked = () => new ControlClient(socket).status();
    await untilValue('it says so', asked, (status) => {
      const text = JSON.stringify(status);
      return text.includes('another agent on this machine') && text.includes(String(first.pid));
    });
    expect(await lab.addressesOn('lo')).to.include(VIP);
    await lab.announces([VIP]);
    expect(await first.stop()).to.equal(0);
    await untilValue(
      'the second has it',
      asked,
      (status) =>
        status.ok &&
        status.value.claims[0]?.gates.find(({ name }) => name === 'bound')?.state === 'open',
    );
    expect(await second.stop()).to.equal(0);
    expect(await lab.addressesOn('lo')).to.not.include(VIP);
  });

  it('the clock is stepped by an hour, forth and back: no session, no route and no wait notices', async () => {
    const stamp = join(lab.node.folder, 'faketime');
    const [library = ''] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
    expect(library, 'the Debian package libfaketime').to.not.equal('');
    writeFileSync(stamp, '+0');
    lab.write({
      'base.yaml': [peer(), pool()],
      'vip.yaml': [claim(VIP, { checks: [{ file: { path: '/proc' } }] })],
    });
    lab.ready(true);
    lab.start([], {
      env: {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: stamp,
        FAKETIME_NO_CACHE: '1',
        DONT_FAKE_MONOTONIC: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    });
    await lab.announces([VIP]);
    const before = await lab.upSince();
    for (const offset of ['+3600', '-3600', '+0']) {
      writeFileSync(stamp, offset);
      const shift = Number(offset);
      await untilValue(
        `the agent's clock is at ${offset}`,
        async () => {
          lab.write({
            'tick.yaml': [
              documentText('IPPool', `p${performance.now().toFixed(0)}`, {
                addresses: ['203.0.113.0/24'],
              }),
            ],
          });
          return lab.agent.log();
        },
        (log) => {
          const times = [...log.matchAll(/"time":"([^"]+)"/g)].map(([, time = '']) =>
            Date.parse(time),
          );
          const last = times.at(-1) ?? 0;
          return Math.abs(last - Date.now() - shift * 1000) < 60_000;
        },
        { everyMs: 300 },
      );
      await lab.announces([VIP]);
    }
    // longer than the hold time: a timer that followed the wall clock would have fired or hung by now
    const began = performance.now();
    await untilValue(
      'more than the hold time has passed',
      () => lab.upSince(),
      () => performance.now() - began > 10_000,
      { timeoutMs: 20_000, everyMs: 500 },
    );
    expect(await lab.upSince()).to.be.closeTo(before, SAME_SESSION_MS);
    await lab.announces([VIP]);
  });

  it('a state directory that cannot be written costs nothing but the memory', async () => {
    writeFileSync(join(lab.node.folder, 'blocked'), '');
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP)] });
    lab.ready(true);
    lab.start(['--state-dir', join(lab.node.folder, 'blocked')]);
    await lab.announces([VIP]);
    await untilValue(
      'the log says so',
      () => lab.agent.log(),
      (text) => /not saved/.test(text),
    );
    await lab.announces([VIP]);
  });

  for (const [flags, wanted] of [
    [['--log-level', 'loud'], /--log-level is 'loud': write one of/],
    [['--asn', '5x'], /--asn is '5x': write a whole number/],
    [['--nodename', 'x'], /unknown flag '--nodename'/],
    [['--source', 'cube'], /--source is 'cube': write files:DIR/],
    [
      ['--join-check', 'https://127.0.0.1:6443/readyz', '--join-pin', 'abc'],
      /--join-pin is 'abc': write 64 hex/,
    ],
    [['--join-check', 'gopher://x'], /gopher/],
  ] as const) {
    it(`herald agent ${flags.join(' ')}: one sentence, exit 2`, async () => {
      mkdirSync(lab.documents, { recursive: true });
      const said = await lab.node.exec(heraldProgram(), ['agent', ...flags], { anyStatus: true });
      expect(said.status).to.equal(2);
      expect(said.stderr).to.match(wanted);
      expect(said.stderr.trim().split('\n')).to.have.length(1);
    });
  }
});
