import type { DownReason, PeerStatus, SpeakerEvent } from 'bgp-ts';
import { expect } from 'chai';
import { ipv4 } from '../../../protocol/net/literal.ts';
import { AnnouncedState } from '../../../src/agent/announced.ts';
import { desired } from '../../../src/agent/desired.ts';
import { KeptRoutes } from '../../../src/agent/kept-routes.ts';
import { NamedTimers } from '../../../src/agent/named-timers.ts';
import type { PeerPlan } from '../../../src/agent/peer-settings.ts';
import type { SavedView } from '../../../src/agent/saved-view.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { documents, view } from './scenery.ts';

const RESTART_SECONDS = 20;
const HOLD_SECONDS = 90;
const ROUTER = '198.51.100.1';

interface Wanted {
  /** of the BGPPeer */
  readonly hasRestart?: boolean;
  /** of the router's OPEN */
  readonly isAware?: boolean;
  /** what both sides agreed on */
  readonly holdSeconds?: number;
  /** the machine came up so long before this process */
  readonly resetSeconds?: number;
}

type Ends = Pick<SpeakerEvent & { kind: 'established' }, 'local' | 'remote'>;

/** one peer, as far as it matters here */
function world(
  {
    hasRestart = true,
    isAware = hasRestart,
    holdSeconds = HOLD_SECONDS,
    resetSeconds,
  }: Wanted = {},
  saved: SavedView['lost'] = [],
  clock = new ManualClock(),
) {
  const timers = { holdSeconds };
  const session = { name: 'tor', state: 'idle' as PeerStatus['state'], isSynced: true };
  const gracefulRestart = hasRestart ? { restartSeconds: RESTART_SECONDS } : undefined;
  const peerOf = { name: 'tor', timers, gracefulRestart };
  const plan = { kind: 'neighbour', peer: peerOf } as unknown as PeerPlan;
  const told: number[] = [];
  const agent = { decided: { plans: [plan] }, sessions: [session] };
  const resetMs = resetSeconds === undefined ? undefined : clock.now() - resetSeconds * 1000;
  const options = { clock, timers: new NamedTimers(clock), agent, saved, resetMs };
  const kept = new KeptRoutes(options, () => told.push(clock.now()));
  const status = () => [session as unknown as PeerStatus];
  const nothing = { signature: '', of: () => ({ kind: 'down' }) as const };
  const state = new AnnouncedState({ status }, () => nothing, kept);
  const peerGracefulRestart = isAware ? { kind: 'graceful-restart' } : undefined;
  const asns = { peerAsn: 64500, localAsn: 64512 };
  const negotiated = { holdTimeSeconds: holdSeconds, peerGracefulRestart, ...asns };
  const local = { address: ipv4('192.0.2.1'), port: 40_000 };
  const establishedAs = (peer: string, remote: string) =>
    ({
      ...{ kind: 'established', peer, negotiated, local },
      remote: { address: ipv4(remote), port: 179 },
    }) as unknown as SpeakerEvent & { peer: string };
  const up = (remote = ROUTER) => {
    session.state = 'established';
    state.take(establishedAs(session.name, remote));
  };
  const endArrives = (peer = session.name, remote = ROUTER) => {
    const { local, remote: end } = establishedAs(peer, remote) as unknown as Ends;
    state.take({ kind: 'end-arrived', peer, local, remote: end });
  };
  const down = (reason: DownReason, hasArrived = true) => {
    session.state = 'idle';
    state.take({ kind: 'down', peer: session.name, wasEstablished: true, reason });
    const isOurs = reason.kind === 'notification-sent' || reason.kind === 'stopped';
    if (isOurs && hasArrived) endArrives();
  };
  const rename = (newName: string) => {
    state.take({ kind: 'removed', peer: session.name, newName });
    session.name = newName;
    agent.decided.plans = [{ ...plan, peer: { ...plan.peer, name: newName } } as PeerPlan];
  };
  const remove = () => {
    state.take({ kind: 'removed', peer: session.name });
    agent.decided.plans = [];
    agent.sessions = [];
  };
  const peer = 'tor/198.51.100.9';
  const member = {
    up: establishedAs(peer, '198.51.100.9'),
    down: { kind: 'down', peer, wasEstablished: true, reason: CLOSED } as const,
  };
  const seconds = () => kept.secondsOf(plan, session);
  const use = (port: number) => {
    agent.decided.plans = [{ ...plan, peer: { ...plan.peer, port } } as PeerPlan];
  };
  /** routers dial us from now on, and these are there */
  const beRange = (...names: readonly string[]) => {
    agent.decided.plans = [{ ...plan, kind: 'range' } as PeerPlan];
    agent.sessions = names.map((name) => ({ ...session, name, state: 'established' as const }));
  };
  const acts = { up, down, rename, remove, use, endArrives, beRange };
  return { clock, kept, state, told, seconds, member, ...acts };
}

const CLOSED: DownReason = { kind: 'disconnected', detail: 'read ECONNRESET' };
const GIVEN_UP: DownReason = { ...CLOSED, detail: 'read ETIMEDOUT', isOneSided: true };
const SILENCE: DownReason = { kind: 'notification-sent', code: 4, subcode: 0, detail: 'silence' };
const CEASE: DownReason = { kind: 'notification-received', code: 6, subcode: 2, detail: 'cease' };
const FAULT: DownReason = { kind: 'notification-sent', code: 3, subcode: 1, detail: 'a fault' };

const NO_RESTART = { hasRestart: false };
const UNAWARE = { isAware: false };
const NO_HOLD_TIME = { hasRestart: false, holdSeconds: 0 };
const AFTER = [
  { what: 'given up by our kernel', reason: GIVEN_UP, wanted: NO_RESTART, seconds: HOLD_SECONDS },
  { what: 'given up, graceful restart', reason: GIVEN_UP, seconds: HOLD_SECONDS },
  { what: 'given up, and no hold time', reason: GIVEN_UP, wanted: NO_HOLD_TIME, seconds: 65_535 },
  { what: 'closed, and no hold time', reason: CLOSED, wanted: NO_HOLD_TIME, seconds: 0 },
  { what: 'closed without a word, graceful restart', reason: CLOSED, seconds: RESTART_SECONDS },
  { what: 'closed without a word', reason: CLOSED, wanted: NO_RESTART, seconds: 0 },
  { what: 'closed, a router that keeps nothing', reason: CLOSED, wanted: UNAWARE, seconds: 0 },
  { what: 'silence: a keepalive more than we', reason: SILENCE, wanted: NO_RESTART, seconds: 30 },
  { what: 'the word of the router', reason: CEASE, seconds: 0 },
  { what: 'our own word', reason: FAULT, seconds: 0 },
  { what: 'our stop', reason: { kind: 'stopped' } as const, seconds: 0 },
];

const STOP: DownReason = { kind: 'stopped' };
const LEAVING: DownReason = { kind: 'notification-sent', code: 6, subcode: 2, detail: 'cease' };
/** our NOTIFICATION was never acknowledged */
const UNHEARD = [
  { what: 'our own word', reason: LEAVING, wanted: NO_RESTART, seconds: HOLD_SECONDS },
  { what: 'our own word, graceful restart', reason: LEAVING, seconds: HOLD_SECONDS },
  { what: 'our stop', reason: STOP, wanted: NO_RESTART, seconds: HOLD_SECONDS },
  { what: 'our stop, and no hold time', reason: STOP, wanted: NO_HOLD_TIME, seconds: 65_535 },
  { what: 'the word of the router', reason: CEASE, seconds: 0 },
  { what: 'silence: a keepalive more than we', reason: SILENCE, wanted: NO_RESTART, seconds: 30 },
];

describe('what routers keep of sessions that are down', () => {
  for (const { what, reason, wanted = {}, seconds } of UNHEARD) {
    it(`is for ${seconds} s where our NOTIFICATION did not arrive: ${what}`, () => {
      const { up, down, seconds: found, kept } = world(wanted);
      up();
      down(reason, false);
      expect(found()).to.equal(seconds);
      expect(kept.leftMs).to.equal(seconds === 0 ? 0 : (seconds + 3) * 1000);
    });
  }

  for (const { what, reason, wanted = {}, seconds } of AFTER) {
    it(`is for ${seconds} s: ${what}`, () => {
      const { up, down, seconds: found, kept } = world(wanted);
      up();
      expect(found(), 'while it is up').to.equal(0);
      expect(kept.leftMs).to.equal(0);
      down(reason);
      expect(found()).to.equal(seconds);
      expect(kept.leftMs).to.equal(seconds === 0 ? 0 : (seconds + 3) * 1000);
    });
  }

  it('is for the restart time after a start: the process before this one may have had a session', () => {
    expect(world().seconds()).to.equal(RESTART_SECONDS);
    expect(world(NO_RESTART).seconds()).to.equal(0);
    const { seconds, clock } = world();
    clock.advance((RESTART_SECONDS + 3) * 1000);
    expect(seconds(), 'that process has been gone for so long').to.equal(0);
  });

  it('is for the hold time from when the machine came up, where it was reset, and lends nothing to a later end', () => {
    const { kept, seconds, clock, state, member } = world({ ...NO_RESTART, resetSeconds: 40 });
    expect(seconds()).to.equal(HOLD_SECONDS);
    expect(kept.leftMs).to.equal((HOLD_SECONDS + 3 - 40) * 1000);
    clock.advance(kept.leftMs);
    expect(seconds()).to.equal(0);
    state.take(member.up);
    state.take(member.down);
    expect(kept.leftMs).to.equal(0);
  });

  it('is for the longer of hold time and restart time after a reset, each from its own moment', () => {
    const { seconds, kept, clock } = world({ resetSeconds: 80 });
    expect(seconds()).to.equal(HOLD_SECONDS);
    expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
    clock.advance(13_000);
    expect(seconds(), 'the hold timer is over').to.equal(RESTART_SECONDS);
    const endless = world({ ...NO_HOLD_TIME, resetSeconds: 80 });
    expect(endless.seconds(), 'no hold timer that ends').to.equal(65_535);
  });

  it('is nothing after a reset once the session is up', () => {
    const { kept, seconds, up, down } = world({ ...NO_RESTART, resetSeconds: 1 });
    up();
    expect([seconds(), kept.leftMs]).to.deep.equal([0, 0]);
    down(CEASE);
    expect([seconds(), kept.leftMs]).to.deep.equal([0, 0]);
  });

  it('counts as announced: what was decided later answers for nothing until it is forgotten, and then by itself', () => {
    const { state, clock, told, up, down } = world();
    up();
    state.decided(desired(view({ documents: documents({}) })));
    state.observed(5n, false);
    expect(state.current.observedClaims).to.equal(5n);
    down(CLOSED);
    state.observed(6n, false);
    clock.advance(22_999);
    expect(state.current.observedClaims).to.equal(5n);
    expect(told).to.deep.equal([]);
    clock.advance(1);
    expect(told).to.have.length(1);
    expect(state.current.observedClaims).to.equal(6n);
  });

  it('is the same of a neighbour of a range, which has no session here any more', () => {
    const { clock, kept, state, member, up } = world();
    up();
    state.take(member.up);
    state.take(member.down);
    state.take({ kind: 'removed', peer: member.up.peer });
    expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
    clock.advance((RESTART_SECONDS + 3) * 1000);
    expect(kept.leftMs).to.equal(0);
  });

  it('is the same of a range after a start, whichever of its routers are back, and is over by itself', () => {
    const { clock, kept, state, told, member, beRange } = world();
    beRange();
    state.decided(desired(view({ documents: documents({}) })));
    clock.advance(1000);
    beRange(member.up.peer);
    state.take(member.up);
    state.observed(5n, false);
    const leftMs = (RESTART_SECONDS + 2) * 1000;
    expect(kept.leftMs, 'the other router has not come back').to.equal(leftMs);
    expect(state.current.observedClaims).to.equal(undefined);
    beRange();
    state.take(member.down);
    state.take({ kind: 'removed', peer: member.up.peer });
    beRange(member.up.peer);
    state.take(member.up);
    expect(kept.leftMs, 'nor has it when the first one was lost and is back').to.equal(leftMs);
    clock.advance(leftMs);
    expect(told).to.have.length(1);
    expect(state.current.observedClaims).to.equal(5n);
  });

  it('is told when it is over where no router of a range ever dials', () => {
    const { clock, state, told, beRange } = world();
    beRange();
    state.decided(desired(view({ documents: documents({}) })));
    state.observed(5n, false);
    clock.advance((RESTART_SECONDS + 3) * 1000);
    expect(told).to.have.length(1);
    expect(state.current.observedClaims).to.equal(5n);
  });

  it('is nothing once the session is back', () => {
    const { kept, up, down } = world();
    up();
    down(CLOSED);
    up();
    expect(kept.leftMs).to.equal(0);
  });

  it('is nothing from when our NOTIFICATION has arrived, and the router that fell silent keeps its time', () => {
    const { kept, endArrives, up, down } = world(NO_RESTART);
    up();
    down(FAULT, false);
    expect(kept.leftMs).to.equal((HOLD_SECONDS + 3) * 1000);
    endArrives();
    expect(kept.leftMs).to.equal(0);
    up();
    down(SILENCE);
    expect(kept.leftMs).to.equal(33_000);
  });

  it('goes on under another name of the BGPPeer, before and after the end', () => {
    const { kept, up, down, rename, seconds } = world();
    up();
    rename('spine');
    down(CLOSED);
    expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
    rename('leaf');
    expect(seconds()).to.equal(RESTART_SECONDS);
    expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
  });

  it('lasts when the BGPPeer is deleted, until the router has forgotten', () => {
    const { clock, kept, up, down, remove } = world();
    up();
    down(CLOSED);
    remove();
    expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
    expect(kept.abandoned.map(({ router, seconds }) => [router.address, seconds])).to.deep.equal([
      [`${ROUTER}:179`, RESTART_SECONDS],
    ]);
    clock.advance((RESTART_SECONDS + 3) * 1000);
    expect(kept.leftMs).to.equal(0);
    expect(kept.abandoned).to.deep.equal([]);
  });

  it('lasts when the session of that name comes up with another router', () => {
    const { kept, up, down } = world();
    up();
    down(CLOSED);
    up('198.51.100.2');
    expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
    up();
    expect(kept.leftMs).to.equal(0);
  });

  it('is of one router where another one is on another port of the same address', () => {
    const { kept, up, down, use } = world();
    use(179);
    up();
    down(CLOSED);
    use(1179);
    up();
    expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
  });

  it('is listed for the router that was left, and counts no longer than that keeps it', () => {
    const { clock, kept, seconds, up, down } = world(NO_RESTART);
    up();
    down(FAULT, false);
    up('198.51.100.2');
    expect(kept.abandoned.map(({ router }) => router.address)).to.deep.equal([`${ROUTER}:179`]);
    clock.advance((HOLD_SECONDS + 3) * 1000);
    expect(kept.abandoned).to.deep.equal([]);
    down(CEASE);
    expect(seconds()).to.equal(0);
  });

  it('ends for the connection whose NOTIFICATION has arrived, whatever name it has by then', () => {
    const { kept, up, down, rename, endArrives } = world(NO_RESTART);
    up();
    down(FAULT, false);
    rename('spine');
    up('198.51.100.2');
    down(FAULT, false);
    endArrives('tor', '198.51.100.2');
    expect(kept.leftMs, 'the first one has not arrived').to.equal((HOLD_SECONDS + 3) * 1000);
    endArrives('tor', ROUTER);
    expect(kept.leftMs).to.equal(0);
  });

  it('is forgotten for those that count no more before one that counts', () => {
    const { kept, state, up, down } = world(NO_RESTART);
    up();
    down(FAULT, false);
    for (let at = 0; at < 1100; at += 1) {
      const peer = `range/${at}`;
      const remote = `10.0.${at >> 8}.${at & 255}`;
      const event = {
        ...{ kind: 'established', peer, negotiated: { holdTimeSeconds: 90 } },
        local: { address: ipv4('192.0.2.1'), port: 179 },
        remote: { address: ipv4(remote), port: 40_000 },
      };
      state.take(event as unknown as SpeakerEvent);
      state.take({ kind: 'down', peer, wasEstablished: true, reason: CEASE });
    }
    expect(kept.leftMs).to.equal((HOLD_SECONDS + 3) * 1000);
  });

  describe('over a new start', () => {
    const lostBy = (kept: KeptRoutes) => kept.inView({} as SavedView)?.lost ?? [];

    it('lasts as long as it would have without, and ends when the session is up', () => {
      const before = world(NO_RESTART);
      before.up();
      before.down(GIVEN_UP);
      before.clock.advance(10_000);
      const lost = lostBy(before.kept);
      const { clock, kept, told, seconds } = world(NO_RESTART, lost, before.clock);
      expect(kept.leftMs).to.equal((HOLD_SECONDS + 3 - 10) * 1000);
      expect(seconds(), 'from the end on').to.equal(HOLD_SECONDS);
      expect(lostBy(kept), 'nor over the next one').to.deep.equal(lost);
      expect(kept.mustWait()).to.equal(true);
      clock.advance((HOLD_SECONDS + 3 - 10) * 1000 - 1);
      expect(told).to.deep.equal([]);
      clock.advance(1);
      expect(told).to.have.length(1);
      expect([kept.leftMs, seconds(), ...lostBy(kept)]).to.deep.equal([0, 0]);
      const back = world(NO_RESTART, lost);
      back.up();
      expect(back.kept.leftMs).to.equal(0);
    });

    it('comes beside the restart time: the session may have been up again before that start', () => {
      const before = world();
      before.up();
      before.down(CLOSED);
      before.clock.advance(15_000);
      const { kept, seconds } = world({}, lostBy(before.kept), before.clock);
      expect(seconds()).to.equal(RESTART_SECONDS);
      expect(kept.leftMs).to.equal((RESTART_SECONDS + 3) * 1000);
    });

    it('is no longer than it was where the wall clock was set back', () => {
      const before = world(NO_RESTART);
      before.clock.advance(3_600_000);
      before.up();
      before.down(GIVEN_UP);
      const { kept } = world(NO_RESTART, lostBy(before.kept));
      expect(kept.leftMs).to.equal((HOLD_SECONDS + 3) * 1000);
    });

    it('is nothing of a router that nothing but a session, or a new start, lets forget', () => {
      const { up, down, kept } = world(NO_HOLD_TIME);
      up();
      down(GIVEN_UP);
      expect(kept.leftMs).to.be.above(0);
      expect(lostBy(kept)).to.deep.equal([]);
    });
  });
});
