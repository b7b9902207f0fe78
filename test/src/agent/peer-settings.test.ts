import { expect } from 'chai';
import { desired } from '../../../src/agent/desired.ts';
import { PasswordFiles } from '../../../src/agent/password-files.ts';
import { placeOf, planPeer } from '../../../src/agent/peer-settings.ts';
import { standingFirst } from '../../../src/agent/standing-peers.ts';
import type { NodeIdentity, View } from '../../../src/agent/view.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import { address, documents, keyOf, NODE, peer, sourced, view } from './scenery.ts';

const rack = (name: string): NodeIdentity => ({
  name: NODE,
  labels: { rack: name },
  routerId: 1,
  asn: 64512,
});

function settingsOf(one: BgpPeer, node = rack('a')) {
  const plan = planPeer(one, view({ node }));
  if (plan?.kind !== 'neighbour') throw new Error(`${plan?.kind}`);
  return plan.settings;
}

function refusalOf(one: BgpPeer, over: Parameters<typeof view>[0] = {}): string {
  const plan = planPeer(one, view(over));
  if (plan?.kind !== 'refused') throw new Error(`${plan?.kind}`);
  return plan.sentence;
}

describe('planPeer', () => {
  it('makes a session of a document', () => {
    expect(settingsOf(peer())).to.deep.equal({
      name: 'tor',
      address: address('192.0.2.1'),
      localAsn: 64512,
      peerAsn: 64500,
      routerId: 1,
      families: ['ipv4', 'ipv6'],
      timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
      nextHop: {},
    });
  });

  it('is nothing, and no fault, on a node that is not selected', () => {
    const one = peer({ nodeSelector: { matchLabels: { rack: 'b' } } });
    expect(planPeer(one, view({ node: rack('a') }))).to.equal(undefined);
    expect(settingsOf(one, rack('b')).name).to.equal('tor');
  });

  it('takes the first override that selects the node, and only that', () => {
    const one = peer({
      localAsn: 64513,
      overrides: [
        { nodeSelector: { matchLabels: { rack: 'b' } }, address: address('192.0.2.9') },
        {
          nodeSelector: { matchLabels: { rack: 'a' } },
          localAsn: 64514,
          sourceAddress: address('192.0.2.33'),
          routerId: 77,
        },
        { address: address('192.0.2.10') },
      ],
    });
    const a = settingsOf(one, rack('a'));
    expect([a.address, a.localAsn, a.routerId]).to.deep.equal([address('192.0.2.1'), 64514, 77]);
    expect(a.sourceAddress).to.deep.equal(address('192.0.2.33'));
    const b = settingsOf(one, rack('b'));
    expect([b.address, b.localAsn, b.routerId]).to.deep.equal([address('192.0.2.9'), 64513, 1]);
    expect(settingsOf(one, rack('c')).address).to.deep.equal(address('192.0.2.10'));
  });

  it('refuses a peer without any AS number of ours, and says where to write one', () => {
    const node = { name: NODE, labels: {}, routerId: 1 };
    expect(refusalOf(peer(), { node })).to.equal(
      'BGPPeer tor names no localASN and the agent has no --asn: write one of them',
    );
    expect(settingsOf(peer({ localAsn: 5 }), node).localAsn).to.equal(5);
  });

  it('refuses this machine’s own address, but not on another port', () => {
    const ownAddresses = new Map([[keyOf('192.0.2.1'), 'eth0']]);
    expect(refusalOf(peer(), { ownAddresses })).to.equal(
      "BGPPeer tor: 192.0.2.1 is this machine's own address (eth0); write the router's",
    );
    expect(planPeer(peer({ port: 1179 }), view({ ownAddresses }))?.kind).to.equal('neighbour');
  });

  it('keeps a session down while its password is unknown or missing, and gives the key when it is there', () => {
    const one = peer({ password: { kind: 'file', path: '/etc/key' } });
    const why = '; its session stays down until that can be read';
    expect(refusalOf(one)).to.equal(`the password of tor has not been read yet${why}`);
    const unknown = new Map([['tor', { kind: 'unknown', problem: 'no answer' } as const]]);
    expect(refusalOf(one, { passwords: unknown })).to.equal(`no answer${why}`);
    const missing = new Map([['tor', { kind: 'missing', sentence: 'gone' } as const]]);
    expect(refusalOf(one, { passwords: missing })).to.equal('gone');
    const ready = new Map([['tor', { kind: 'ready', password: 'k' } as const]]);
    const plan = planPeer(one, view({ passwords: ready }));
    expect(plan?.kind === 'neighbour' && plan.settings.password).to.equal('k');
  });

  describe('of a key that nobody can say', () => {
    const KEY = { kind: 'file', path: '/etc/key' } as const;
    const range = { family: 'ipv4', bits: 0x0a000000, length: 8 } as const;
    const ranged = { target: { kind: 'range', range }, listen: true } as const;
    const passwords = new Map([['spine', { kind: 'unknown', problem: 'no answer' } as const]]);

    /** the key of `after` where `before` stands, with one */
    function keyOfNext(before: Partial<BgpPeer>, after: Partial<BgpPeer>): string | undefined {
      const fact = { kind: 'ready', password: 'k' } as const;
      const first = peer({ password: KEY, ...before });
      const standing = planPeer(first, view({ passwords: new Map([['tor', fact]]) }));
      const next = peer({ name: 'spine', password: KEY, ...after });
      const renamed = { ...documents(), peers: [sourced(next, 5)] };
      const about = { passwords, documents: renamed, standing: standing ? [standing] : [] };
      const plan = planPeer(next, view(about));
      if (plan === undefined || plan.kind === 'refused') return undefined;
      expect(plan.unreadKey).to.equal('no answer');
      return plan.kind === 'range' ? plan.template.password : plan.settings.password;
    }

    it('keeps that of the session that stands, with one router or a range of them', () => {
      expect(keyOfNext({}, {})).to.equal('k');
      expect(keyOfNext(ranged, ranged)).to.equal('k');
      const timers = { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 60 };
      expect(keyOfNext({}, { timers, maxRoutes: 5 }), 'what changes in place').to.equal('k');
    });

    const others: readonly (readonly [string, Partial<BgpPeer>, Partial<BgpPeer>])[] = [
      ['another router', {}, { target: { kind: 'address', address: address('192.0.2.9') } }],
      ['another port', {}, { port: 1179 }],
      ['another AS', {}, { asn: 64501 }],
      ['a range, not one of its routers', ranged, {}],
      [
        'another range',
        ranged,
        { ...ranged, target: { kind: 'range', range: { ...range, length: 9 } } },
      ],
      ['other families of a range', ranged, { ...ranged, families: ['ipv4'] }],
    ];
    for (const [what, before, after] of others) {
      it(`has none of ${what}`, () => expect(keyOfNext(before, after)).to.equal(undefined));
    }

    it('has none of a session without one: that is not the key which is asked for', () => {
      const standing = planPeer(peer(), view());
      const next = peer({ name: 'spine', password: KEY });
      const over = { passwords, standing: standing ? [standing] : [] };
      expect(refusalOf(next, over)).to.include('no answer');
    });
  });

  it('plans a range, and a neighbour where an override names one', () => {
    const range = { family: 'ipv4', bits: 0x0a000000, length: 8 } as const;
    const one = peer({
      target: { kind: 'range', range },
      listen: true,
      overrides: [{ nodeSelector: { matchLabels: { rack: 'b' } }, address: address('192.0.2.9') }],
    });
    const plan = planPeer(one, view({ node: rack('a') }));
    expect(plan?.kind === 'range' && plan.range).to.equal(range);
    expect(settingsOf(one, rack('b')).address).to.deep.equal(address('192.0.2.9'));
  });

  it('asks for IPv4 routes with an IPv6 next hop where the document does, of a range too', () => {
    expect(settingsOf(peer({ extendedNextHop: true })).extendedNextHop).to.equal(true);
    const range = { family: 'ipv6', w0: 0x20010db8, w1: 0, w2: 0, w3: 0, length: 64 } as const;
    const over = { target: { kind: 'range', range }, listen: true, extendedNextHop: true } as const;
    const plan = planPeer(peer(over), view({ node: rack('a') }));
    expect(plan?.kind === 'range' && plan.template.extendedNextHop).to.equal(true);
  });

  it('turns ttlSecurity and multihop into socket rules', () => {
    expect(settingsOf(peer({ ttlSecurity: true })).ttl).to.deep.equal({ kind: 'gtsm', hops: 1 });
    expect(settingsOf(peer({ multihop: 3 })).ttl).to.deep.equal({ kind: 'hops', hops: 3 });
  });
});

describe('peers that cannot be had beside each other', () => {
  const range = { family: 'ipv4', bits: 0x0a000000, length: 8 } as const;
  const ranged = (name: string, over: Partial<BgpPeer> = {}) =>
    peer({ name, target: { kind: 'range', range }, listen: true, ...over });
  const refused = (peers: readonly BgpPeer[], node = rack('a')) =>
    desired(view({ node, documents: documents({ peers }) })).plans.flatMap((plan) =>
      plan.kind === 'refused' ? [plan.sentence] : [],
    );

  const differences: readonly Partial<BgpPeer>[] = [
    {},
    { nodeSelector: { matchLabels: { rack: 'a' } } },
    { port: 1179 },
    { sourceInterface: 'eth1' },
    { sourceAddress: address('192.0.2.33') },
    { asn: 64501, ttlSecurity: true },
  ];
  for (const difference of differences) {
    it(`refuses the second range of the same addresses: ${JSON.stringify(difference)}`, () => {
      const state = desired(
        view({
          node: rack('a'),
          documents: documents({ peers: [ranged('tor'), ranged('tor-rack-a', difference)] }),
        }),
      );
      expect(state.ranges.map(({ name }) => name)).to.deep.equal(['tor']);
      const [decision] = state.claims;
      const [first, second] = decision?.peers ?? [];
      expect([first?.route === undefined, second?.route === undefined]).to.deep.equal([
        false,
        true,
      ]);
      expect(second?.allowed.sentence).to.match(
        /^BGPPeer tor-rack-a has the same addressRange as BGPPeer tor on this node, .* remove one/,
      );
    });
  }

  describe('of one session', () => {
    const KEY = { kind: 'file', path: '/etc/key' } as const;
    const UNKNOWN = new Map([['tor', { kind: 'unknown', problem: 'no answer' } as const]]);
    const inRack = (name: string, over: Partial<BgpPeer> = {}) =>
      peer({ name, nodeSelector: { matchLabels: { rack: 'a' } }, ...over });
    const peersOf = (...peers: readonly (readonly [BgpPeer, number, 'files' | 'api'])[]) => ({
      ...documents(),
      peers: peers.map(([object, createdMs, source]) => {
        return { ...sourced(object, createdMs), source };
      }),
    });
    /** names of those that have a session, or wait for its key */
    const inForce = (over: Partial<View>) =>
      desired(view({ node: rack('a'), ...over })).plans.flatMap((plan) =>
        placeOf(plan) === undefined ? [] : [plan.peer.name],
      );

    it('has that of files, then the one that stands, then the older one, then the first by name', () => {
      const [tor, other] = [peer(), inRack('a-tor')];
      const both = (source: 'files' | 'api', ms = 5) =>
        peersOf([other, ms, source], [tor, 5, 'api']);
      expect(inForce({ documents: both('api') })).to.deep.equal(['a-tor']);
      expect(inForce({ documents: both('api', 6) })).to.deep.equal(['tor']);
      const [stands] = desired(view({ documents: peersOf([tor, 5, 'api']) })).plans;
      const standing = stands === undefined ? [] : [stands];
      expect(inForce({ documents: both('api', 1), standing })).to.deep.equal(['tor']);
      expect(inForce({ documents: both('files', 9), standing })).to.deep.equal(['a-tor']);
    });

    it('it is that of the same name that stands, also where the session has to be made anew', () => {
      const standing = desired(view({ documents: peersOf([peer(), 5, 'api']) })).plans;
      const edited = peersOf([inRack('a-tor'), 1, 'api'], [peer({ asn: 64_501 }), 5, 'api']);
      expect(inForce({ documents: edited, standing })).to.deep.equal(['tor']);
    });

    it('one whose key nobody can say yet is waited for, and not one that surely has none', () => {
      const both = peersOf([inRack('a-tor'), 9, 'api'], [peer({ password: KEY }), 5, 'api']);
      const waiting = { documents: both, passwords: UNKNOWN };
      expect(inForce(waiting)).to.deep.equal(['tor']);
      const missing = new Map([['tor', { kind: 'missing', sentence: 'gone' } as const]]);
      expect(inForce({ documents: both, passwords: missing })).to.deep.equal(['a-tor']);
      const standing = desired(view({ node: rack('a'), ...waiting })).plans;
      const ready = new Map([['tor', { kind: 'ready', password: 'k' } as const]]);
      expect(inForce({ documents: both, passwords: ready, standing })).to.deep.equal(['tor']);
    });

    describe('a BGPPeer that waits for a key keeps no other from a session for ever', () => {
      const [tor, other] = [peer({ password: KEY, asn: 64_501 }), inRack('a-tor')];
      const both = peersOf([tor, 5, 'api'], [other, 9, 'api']);
      const waiting = { documents: both, passwords: UNKNOWN };
      const ready = new Map([['tor', { kind: 'ready', password: 'k' } as const]]);
      const at = (nowMs: number, { plans: standing }: { plans: View['standing'] & object }) =>
        desired(view({ node: rack('a'), ...waiting, nowMs, standing }));
      const having = ({ plans }: ReturnType<typeof at>) =>
        plans.flatMap((plan) => (plan.kind === 'refused' ? [] : [plan.peer.name]));

      it('but for a minute, and it says why it has none itself', () => {
        const first = at(1000, { plans: [] });
        expect(having(first)).to.deep.equal([]);
        expect(first.wakeAtMs).to.equal(61_000);
        const later = at(60_999, first);
        expect([having(later), later.wakeAtMs]).to.deep.equal([[], 61_000]);
        const over = at(61_000, later);
        expect(having(over)).to.deep.equal(['a-tor']);
        expect(over.wakeAtMs).to.equal(undefined);
        expect(over.plans[0]).to.have.property('sentence').that.includes('no answer');
        expect(having(at(62_000, over))).to.deep.equal(['a-tor']);
      });

      it('it has its session when its key is known, and the other one never where it is soon', () => {
        const first = at(1000, { plans: [] });
        const soon = { ...waiting, passwords: ready, nowMs: 2000, standing: first.plans };
        expect(inForce(soon)).to.deep.equal(['tor']);
        const over = at(62_000, at(61_000, first));
        const late = { ...waiting, passwords: ready, nowMs: 63_000, standing: over.plans };
        expect(inForce(late)).to.deep.equal(['tor']);
      });

      it('lends nobody the key of the other one, though they are the same but for their keys', () => {
        const passwords: View['passwords'] = new Map([
          ['tor', { kind: 'unknown', problem: 'x' } as const],
          ['a-tor', { kind: 'ready', password: 'k2' } as const],
        ]);
        const same = peer({ password: KEY });
        const two = peersOf([same, 5, 'api'], [inRack('a-tor', { password: KEY }), 9, 'api']);
        const about = { node: rack('a'), documents: two, passwords } as const;
        let { plans: standing } = desired(view({ ...about, nowMs: 1000 }));
        for (const nowMs of [61_000, 62_000, 63_000]) {
          const next = desired(view({ ...about, nowMs, standing }));
          expect(having(next), `at ${nowMs}`).to.deep.equal(['a-tor']);
          standing = next.plans;
        }
        const names = standingFirst(two.peers, standing).map(({ object }) => object.name);
        expect(names, 'in the saved View').to.deep.equal(['a-tor', 'tor']);
      });

      it('another one that waits takes no place of it', () => {
        const unread = { kind: 'unknown', problem: 'x' } as const;
        const passwords: View['passwords'] = new Map([
          ['tor', unread],
          ['a-tor', unread],
        ]);
        const two = peersOf([tor, 5, 'api'], [inRack('a-tor', { password: KEY }), 9, 'api']);
        const about = { node: rack('a'), documents: two, passwords } as const;
        const first = desired(view({ ...about, nowMs: 1000 }));
        const over = { ...about, nowMs: 61_000, standing: first.plans };
        const late = { ...about, passwords: ready, nowMs: 62_000 };
        const { plans: standing } = desired(view(over));
        expect(having(desired(view({ ...late, standing })))).to.deep.equal(['tor']);
      });
    });
  });

  it('has a neighbour of a range agree on a hold time: a stranger that is silent would be waited for without an end', () => {
    const [ofRange, ofAddress] = [ranged('a'), peer()].map((one) => {
      const plan = planPeer(one, view({ node: rack('a') }));
      if (plan === undefined || plan.kind === 'refused') throw new Error(`${plan?.kind}`);
      return plan.kind === 'range' ? plan.template : plan.settings;
    });
    expect(ofRange).to.include({ requiresHoldTime: true });
    expect(ofAddress).not.to.have.property('requiresHoldTime');
  });

  it('leaves a range alone that is for other nodes, and one of other addresses', () => {
    const elsewhere = ranged('b', { nodeSelector: { matchLabels: { rack: 'b' } } });
    expect(refused([ranged('a'), elsewhere])).to.deep.equal([]);
    const narrower = ranged('b', { target: { kind: 'range', range: { ...range, length: 9 } } });
    expect(refused([ranged('a'), narrower])).to.deep.equal([]);
  });

  it('refuses the one peer that no session can be made of, and no other', () => {
    const timers = { holdSeconds: 2, keepaliveSeconds: 1, connectRetrySeconds: 5 };
    const bad = peer({ name: 'bad', target: { kind: 'address', address: address('192.0.2.9') } });
    expect(refused([{ ...bad, timers }, peer()])).to.deep.equal([
      'neighbour bad: a hold time is 0 (none) or 3 to 65535 whole seconds, not 2',
    ]);
    // one that cannot be used keeps no other from its place
    expect(refused([{ ...ranged('bad'), timers }, ranged('b')])).to.deep.equal([
      'range bad: a hold time is 0 (none) or 3 to 65535 whole seconds, not 2',
    ]);
  });
});

describe('PasswordFiles', () => {
  const one = peer({ password: { kind: 'file', path: '/etc/key' } });

  function facts(read: (path: string) => string) {
    const files = new PasswordFiles(read);
    files.refresh([one, peer({ name: 'open' })]);
    return files.facts;
  }

  it('takes the text without the line end of an editor', () => {
    expect(facts(() => 'se cret\r\n').get('tor')).to.deep.equal({
      kind: 'ready',
      password: 'se cret',
    });
    expect(facts(() => 'x').has('open')).to.equal(false);
  });

  for (const behind of ['\n\n', '\n# the rack on the left\n', '\r\nold\r\n']) {
    it(`takes the first line alone: ${JSON.stringify(behind)} behind it`, () => {
      const fact = facts(() => `secret${behind}`).get('tor');
      expect(fact).to.deep.equal({ kind: 'ready', password: 'secret' });
    });
  }

  const bad = [
    { name: 'empty in its first line', text: '\nsecret\n', words: 'an empty first line' },
    { name: 'empty', text: '\n', words: 'is empty' },
    { name: 'too long', text: 'x'.repeat(81), words: 'holds 81 octets, at most 80 are possible' },
    // two octets each
    { name: 'too long in octets', text: 'ä'.repeat(41), words: 'holds 82 octets' },
  ];
  for (const { name, text, words } of bad) {
    it(`says what is wrong with a file that is ${name}`, () => {
      const fact = facts(() => text).get('tor');
      expect(fact?.kind === 'missing' && fact.sentence).to.include(words);
    });
  }

  it('names file, peer and reason when it cannot be read, and notices every change once', () => {
    let text: string | undefined;
    const files = new PasswordFiles(() => {
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    });
    expect(files.refresh([one])).to.equal(true);
    expect(files.facts.get('tor')).to.deep.equal({
      kind: 'missing',
      sentence:
        'the password file /etc/key of BGPPeer tor cannot be read (ENOENT); its session stays down until it can be read',
    });
    expect(files.refresh([one])).to.equal(false);
    text = 'k';
    expect(files.refresh([one])).to.equal(true);
    expect(files.refresh([one])).to.equal(false);
    text = undefined;
    expect(files.refresh([one])).to.equal(true);
  });

  describe('of a file that was read before', () => {
    const KEY = { kind: 'ready', password: 'k' } as const;
    let read: () => string;
    let files: PasswordFiles;

    const failing = (code?: string) => () => {
      throw Object.assign(new Error('it failed'), code === undefined ? {} : { code });
    };

    beforeEach(() => {
      read = () => 'k\n';
      files = new PasswordFiles(() => read());
      files.refresh([one]);
    });

    for (const code of ['EAGAIN', 'EMFILE', 'ENFILE', 'EIO', 'EACCES', 'ESTALE']) {
      it(`keeps the key when it cannot be read just now (${code})`, () => {
        read = failing(code);
        expect(files.refresh([one])).to.equal(false);
        expect(files.refresh([one])).to.equal(false);
        expect(files.facts.get('tor')).to.deep.equal(KEY);
      });
    }

    for (const text of ['', '\n']) {
      it(`keeps the key while it is empty (${JSON.stringify(text)}), and takes the one that follows`, () => {
        read = () => text;
        expect(files.refresh([one])).to.equal(false);
        expect(files.facts.get('tor')).to.deep.equal(KEY);
        read = () => 'new';
        expect(files.refresh([one])).to.equal(true);
        expect(files.facts.get('tor')).to.deep.equal({ kind: 'ready', password: 'new' });
      });
    }

    for (const [what, gone] of [
      ['it is gone', failing('ENOENT')],
      ['its folder is gone', failing('ENOTDIR')],
      ['something else is in its place', failing()],
      ['it holds what cannot be a key', () => 'x'.repeat(81)],
    ] as const) {
      it(`gives the key up when ${what}, and does not remember it`, () => {
        read = gone;
        expect(files.refresh([one])).to.equal(true);
        expect(files.facts.get('tor')?.kind).to.equal('missing');
        read = failing('EIO');
        files.refresh([one]);
        expect(files.facts.get('tor')?.kind).to.equal('unknown');
      });
    }

    it('does not take the key of one file for that of another', () => {
      read = failing('EACCES');
      files.refresh([peer({ password: { kind: 'file', path: '/etc/other' } })]);
      expect(files.facts.get('tor')).to.deep.equal({
        kind: 'unknown',
        problem: 'the password file /etc/other of BGPPeer tor cannot be read (EACCES)',
      });
    });
  });
});
