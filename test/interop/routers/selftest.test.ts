/**
 * The drivers prove themselves before anything of ours is judged by them: each router peers with BIRD over
 * TCP-MD5, and what its driver reads back (sessions, attributes, refresh, texts) is compared with what BIRD was told to
 * send, or with the wire. A driver that reads nothing, or reads the wrong thing, fails here.
 */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { type Capture, startCapture } from '../../support/capture.ts';
import { createLab, type Host, type Lab, type Link } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { allRouters, requireLab, skipWithoutLab } from '../require-lab.ts';
import { Bird } from './bird.ts';
import { createRouter } from './create.ts';
import type { Announcement, Neighbour, Route, Router, RouterConfig } from './router.ts';

const referenceAsn = 4_200_000_001;
const subjectAsn = 65_002;
const referenceAddress = '10.0.0.1';
const subjectAddress = '10.0.0.2';
const key = 'right-key';

const sent4 = {
  prefix: '192.0.2.0/24',
  med: 77,
  prepend: [65_009, 4_200_000_009],
  communities: ['65001:7', '65535:65281'],
  largeCommunities: ['4200000001:1:2'],
  extendedCommunities: ['rt:65001:9', '0x0004fde94cee6b28'],
} satisfies Announcement;
const sent6 = {
  prefix: '2001:db8:1::/48',
  med: 78,
  communities: ['65001:8'],
} satisfies Announcement;

const neighbour = (address: string, localAddress: string, asn: number): Neighbour => ({
  address,
  localAddress,
  asn,
  families: ['ipv4', 'ipv6'],
  holdTimeSeconds: 9,
  isGracefulRestartHelper: true,
  password: key,
});

const referenceConfig: RouterConfig = {
  localAsn: referenceAsn,
  routerId: '10.0.0.1',
  neighbours: [
    { ...neighbour(subjectAddress, referenceAddress, subjectAsn), isGracefulRestarter: true },
  ],
  announce: [sent4, sent6],
};
const subjectConfig: RouterConfig = {
  localAsn: subjectAsn,
  routerId: '10.0.0.2',
  neighbours: [neighbour(referenceAddress, subjectAddress, referenceAsn)],
  announce: [{ prefix: '198.51.100.0/24' }],
};
const wrongKeyConfig: RouterConfig = {
  ...subjectConfig,
  neighbours: [{ ...neighbour(referenceAddress, subjectAddress, referenceAsn), password: 'wrong' }],
};

async function established(router: Router, timeoutMs = 60_000): Promise<void> {
  await untilValue(
    `${router.kind} is established`,
    () => router.sessions(),
    (sessions) => sessions.length === 1 && sessions[0]?.state === 'established',
    { timeoutMs },
  );
}

async function routes(router: Router, family: 'ipv4' | 'ipv6'): Promise<Route | undefined> {
  const seen = await untilValue(
    `${router.kind} has one ${family} route`,
    () => router.routes(family),
    (found) => found.length === 1,
  );
  return seen[0];
}

/** TCP segments that the kernel dropped for their MD5 signature: the proof that a key was compared. */
async function refusedSegments(host: Host): Promise<number> {
  const { stdout } = await host.exec('cat', ['/proc/net/netstat']);
  const [names = [], values = []] = stdout
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('TCPMD5Failure')] ?? 0);
}

/** What the kernel says of a process; nothing of one that has ended since it was listed. */
function statusOf(pid: string): readonly string[] {
  try {
    return [readFileSync(`/proc/${pid}/status`, 'utf8')];
  } catch {
    return [];
  }
}

for (const kind of allRouters) {
  describe(`the ${kind} driver`, function () {
    this.timeout(180_000);
    let lab: Lab;
    let link: Link;
    let subjectHost: Host;
    let referenceHost: Host;
    let capture: Capture;
    const reference = new Bird();
    const subject = createRouter(kind);

    before(async function () {
      skipWithoutLab(this, ['bird', kind]);
      lab = createLab(kind);
      referenceHost = await lab.host('reference', { forward: false });
      subjectHost = await lab.host('subject', { forward: false });
      link = await lab.link(referenceHost, subjectHost, {
        a: [`${referenceAddress}/24`, 'fd00::1/64'],
        b: [`${subjectAddress}/24`, 'fd00::2/64'],
      });
      capture = await startCapture(subjectHost, link.b.name);
      await Promise.all([
        reference.start(referenceHost, referenceConfig),
        subject.start(subjectHost, subjectConfig),
      ]);
    });

    afterEach(function () {
      if (this.currentTest?.state === 'failed') process.stderr.write(subject.log().slice(-3000));
    });

    after(async () => {
      await lab?.destroy();
    });

    it('names its version', async () => {
      expect(await subject.version()).to.match(/^\w+ \d+\.\d+/);
    });

    it('establishes with the right key, signed with TCP-MD5', async () => {
      await Promise.all([established(subject), established(reference)]);
      const opens = await capture.frames('bgp.type == 1', ['tcp.option_kind']);
      expect(opens.length).to.be.greaterThanOrEqual(2);
      for (const open of opens) expect(open['tcp.option_kind'].split(',')).to.include('19');
    });

    it('reads back every attribute of an IPv4 route', async () => {
      const route = await routes(subject, 'ipv4');
      expect(route).to.include({ prefix: sent4.prefix, med: 77, origin: 'igp' });
      expect(route?.peer).to.equal(referenceAddress);
      expect(route?.nextHops).to.deep.equal([referenceAddress]);
      expect(route?.asPath).to.deep.equal([referenceAsn, ...sent4.prepend]);
      expect(route?.communities).to.deep.equal(sent4.communities);
      expect(route?.largeCommunities).to.deep.equal(sent4.largeCommunities);
      expect(route?.extendedCommunities).to.have.members([
        'rt:65001:9',
        'link-bandwidth:65001:1.25e8',
      ]);
      expect(await subject.count('ipv4')).to.equal(1);
    });

    it('reads back an IPv6 route with its next hops', async () => {
      const route = await routes(subject, 'ipv6');
      expect(route).to.include({ prefix: sent6.prefix, med: 78, origin: 'igp' });
      expect(route?.asPath).to.deep.equal([referenceAsn]);
      expect(route?.communities).to.deep.equal(sent6.communities);
      const isBlind = subject.limits['shows-link-local'] !== undefined;
      expect(route?.nextHops).to.deep.equal(isBlind ? ['fd00::1'] : ['fd00::1', link.a.linkLocal]);
      expect(await subject.count('ipv6')).to.equal(1);
    });

    it('announces its own prefix', async () => {
      const route = await routes(reference, 'ipv4');
      expect(route).to.include({ prefix: '198.51.100.0/24', peer: subjectAddress });
      expect(route?.asPath).to.deep.equal([subjectAsn]);
    });

    it('asks the neighbour for a route refresh, or says that it cannot', async () => {
      if (subject.limits.refresh !== undefined) {
        const refused = await subject
          .refresh(referenceAddress)
          .catch((error: Error) => error.message);
        expect(refused).to.include(subject.limits.refresh);
        return;
      }
      const now = Date.now() / 1000;
      const asked = `bgp.type == 5 && ip.src == ${subjectAddress} && frame.time_epoch >= ${now}`;
      await subject.refresh(referenceAddress);
      await untilValue(
        'ROUTE-REFRESH for both families is on the wire',
        () => capture.frames(asked, ['bgp.route_refresh.afi']),
        (frames) => {
          const families = frames.flatMap((frame) => frame['bgp.route_refresh.afi'].split(','));
          return families.includes('1') && families.includes('2');
        },
      );
    });

    it('shows the text of a shutdown it received', async () => {
      await reference.shutdown(subjectAddress, 'until monday');
      const shown = await untilValue(
        'the text arrived',
        () => subject.lastNotification(referenceAddress),
        (notification) => notification?.text !== undefined,
      );
      expect(shown?.text).to.equal('until monday');
      const [session] = await untilValue(
        'the session is down',
        () => subject.sessions(),
        (sessions) => sessions[0]?.state !== 'established',
      );
      expect(session?.lastError).to.include('until monday');
      await untilValue(
        'the routes are gone',
        () => subject.count('ipv4'),
        (count) => count === 0,
      );
      await reference.enable(subjectAddress);
    });

    it('comes back after a restart', async () => {
      await subject.restart();
      await Promise.all([established(subject), established(reference)]);
    });

    it('keeps the routes of a neighbour that died, marked as stale, or drops them', async () => {
      const isHelper = subject.limits['graceful-restart-helper'] === undefined;
      await Promise.all([routes(subject, 'ipv4'), routes(subject, 'ipv6')]);
      await untilValue(
        'End-of-RIB of both families arrived',
        () => subject.sessions(),
        (sessions) => (sessions[0]?.endOfRibs ?? 2) === 2,
      );
      await reference.kill();
      await untilValue(
        isHelper ? 'the route is stale' : 'the route is gone',
        () => subject.routes('ipv4'),
        (found) =>
          isHelper ? found.length === 1 && found[0]?.isStale === true : found.length === 0,
      );
      await reference.start(referenceHost, referenceConfig);
      await Promise.all([established(subject), established(reference)]);
      await untilValue(
        'the route is fresh again',
        () => subject.routes('ipv4'),
        (found) => found.length === 1 && found[0]?.isStale === undefined,
      );
    });

    it('shuts a session down with a text', async () => {
      const text = await subject.shutdown(referenceAddress, 'drained for work');
      if (subject.limits['shutdown-text'] === undefined) expect(text).to.equal('drained for work');
      await untilValue(
        'BIRD shows the text',
        () => reference.lastNotification(subjectAddress),
        (notification) => notification?.text === text,
      );
      await subject.enable(referenceAddress);
      await Promise.all([established(subject), established(reference)]);
    });

    it('freezes and thaws all its processes', async () => {
      const states = async () => {
        const { stdout } = await run('ip', ['netns', 'pids', subjectHost.namespace]);
        return stdout
          .trim()
          .split('\n')
          .flatMap((pid) => statusOf(pid.trim()))
          .map((status) => `${/Name:\t(.*)/.exec(status)?.[1]} ${/State:\t(.*)/.exec(status)?.[1]}`)
          .filter((line) => !/^(dumpcap|cat|[\w.-]+\.sh) /.test(line));
      };
      const isStopped = (line: string) => line.includes('(stopped)');
      subject.freeze();
      // who sleeps in the kernel stops on its way out of it
      await untilValue(
        'all are stopped',
        states,
        (lines) => lines.length > 0 && lines.every(isStopped),
      );
      subject.thaw();
      await untilValue('none is stopped', states, (lines) => !lines.some(isStopped));
    });

    it('says goodbye when stopped, and does not establish with a wrong key', async () => {
      await subject.stop();
      await untilValue(
        'BIRD sees the session down',
        () => reference.sessions(),
        (sessions) => sessions[0]?.state !== 'established',
      );
      const before = await refusedSegments(referenceHost);
      await subject.start(subjectHost, wrongKeyConfig);
      await untilValue(
        'segments with a wrong signature are dropped on both sides',
        async () => [
          (await refusedSegments(referenceHost)) - before,
          await refusedSegments(subjectHost),
        ],
        ([here = 0, there = 0]) => here + there >= 2,
      );
      expect((await subject.sessions())[0]?.state).to.not.equal('established');
      expect((await reference.sessions())[0]?.state).to.not.equal('established');
      await subject.kill();
    });
  });
}

describe('requireLab', () => {
  it('names a router that is not installed', () => {
    const { PATH: path = '' } = process.env;
    Object.assign(process.env, { PATH: '/nowhere' });
    try {
      expect(requireLab(['bird']).join(' ')).to.include('bird: no bird, birdc');
    } finally {
      Object.assign(process.env, { PATH: path });
    }
  });
});
