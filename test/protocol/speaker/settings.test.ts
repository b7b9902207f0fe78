import { expect } from 'chai';
import { address, ipv4 } from '../../../protocol/net/literal.ts';
import { sortSettings } from '../../../protocol/speaker/check-settings.ts';
import {
  needsNewSession,
  type PeerSettings,
  sessionConfig,
} from '../../../protocol/speaker/settings.ts';
import { socketOptions } from '../../../protocol/speaker/socket-options.ts';

const settings: PeerSettings = {
  name: 'r',
  address: ipv4('192.0.2.1'),
  localAsn: 64512,
  peerAsn: 64500,
  routerId: 1,
};

describe('settings of a neighbour', () => {
  it('have the documented defaults', () => {
    const config = sessionConfig(settings, { restarting: false });
    expect(config).to.include({
      holdTimeSeconds: 9,
      connectRetrySeconds: 5,
      passive: false,
      acceptIncoming: false,
    });
    expect(config.sendHoldSeconds).to.equal(480);
    expect(config.capabilities.map(({ kind }) => kind)).to.deep.equal([
      'multiprotocol',
      'multiprotocol',
      'route-refresh',
      'enhanced-route-refresh',
      'extended-message',
      'four-octet-asn',
    ]);
  });

  it('need a new session for what stands in the OPEN or belongs to the socket', () => {
    const changes: readonly Partial<PeerSettings>[] = [
      { localAsn: 1 },
      { peerAsn: 'external' },
      { routerId: 2 },
      { port: 1179 },
      { address: address('2001:db8::1') },
      { families: ['ipv4'] },
      { password: 'x' },
      { ttl: { kind: 'gtsm', hops: 1 } },
      { sourceAddress: ipv4('192.0.2.9') },
      { sourceInterface: 'eth1' },
      { timers: { holdSeconds: 30 } },
      { gracefulRestart: { restartSeconds: 30 } },
      { passive: true },
      { role: 3 },
    ];
    for (const change of changes) {
      expect(
        needsNewSession(settings, { ...settings, ...change }),
        JSON.stringify(change),
      ).to.equal(true);
    }
  });

  it('change in place where only our own behaviour does, and not at all when said in another order', () => {
    const { name, ...rest } = settings;
    expect(needsNewSession(settings, { ...rest, name })).to.equal(false);
    expect(
      needsNewSession(settings, { ...settings, port: 179, families: ['ipv4', 'ipv6'] }),
    ).to.equal(false);
    const inPlace = { timers: { connectRetrySeconds: 1 }, nextHop: { ipv4: ipv4('192.0.2.7') } };
    expect(needsNewSession(settings, { ...settings, ...inPlace })).to.equal(false);
  });

  it('are refused in a sentence where no OPEN could be made of them', () => {
    const wrong: readonly (readonly [Partial<PeerSettings>, RegExp])[] = [
      [{ localAsn: 0 }, /^neighbour r: 0 is no AS number/],
      [{ localAsn: 2 ** 32 }, /no AS number/],
      [{ peerAsn: 0 }, /no AS number/],
      [{ routerId: 0 }, /no BGP identifier/],
      [{ routerId: 1.5 }, /no BGP identifier/],
      [{ port: 65536 }, /no port/],
      [{ families: [] }, /no address family/],
      [{ gracefulRestart: { restartSeconds: 4096 } }, /0 to 4095/],
      [{ gracefulRestart: { restartSeconds: 1.5 } }, /0 to 4095/],
      [{ role: 5 }, /no role 5/],
      [{ timers: { holdSeconds: 1 } }, /0 \(none\) or 3 to 65535/],
      [{ timers: { holdSeconds: 2 } }, /0 \(none\) or 3 to 65535/],
      [{ timers: { connectRetrySeconds: 0 } }, /connectRetrySeconds is 0/],
      [{ timers: { holdSeconds: 65536 } }, /0 \(none\) or 3 to 65535/],
      [{ timers: { holdSeconds: 4.5 } }, /0 \(none\) or 3 to 65535/],
      [{ timers: { connectRetrySeconds: -1 } }, /connectRetrySeconds is -1/],
      [{ timers: { delayOpenSeconds: Number.NaN } }, /delayOpenSeconds is NaN/],
    ];
    for (const [change, sentence] of wrong) {
      const { peers, refused } = sortSettings([{ settings: { ...settings, ...change } }]);
      expect(peers, JSON.stringify(change)).to.deep.equal([]);
      expect(refused.map((one) => one.sentence).join(), JSON.stringify(change)).to.match(sentence);
    }
    const [first, second] = [{ settings }, { settings }];
    const twice = sortSettings([first, second]);
    expect(twice.peers).to.deep.equal([first]);
    expect(twice.refused[0]?.sentence).to.match(/two of this name/);
    const edges: readonly Partial<PeerSettings>[] = [
      { localAsn: 2 ** 32 - 1, peerAsn: 'internal', routerId: 2 ** 32 - 1, port: 65535 },
      { gracefulRestart: { restartSeconds: 4095 }, role: 4, families: ['ipv6'] },
      { timers: { holdSeconds: 0, connectRetrySeconds: 0.1, sendHoldSeconds: 0 } },
      { timers: { holdSeconds: 3, delayOpenSeconds: 0 } },
    ];
    for (const change of edges) {
      expect(sortSettings([{ settings: { ...settings, ...change } }]).refused).to.deep.equal([]);
    }
  });

  it('ask the kernel for keepalives always, and to give up only where no hold timer does', () => {
    expect(socketOptions(settings)).to.have.keys('keepAliveSeconds');
    const unwatched = socketOptions({ ...settings, timers: { holdSeconds: 0 } });
    expect(unwatched).to.have.keys('userTimeoutMs', 'keepAliveSeconds');
  });
});
