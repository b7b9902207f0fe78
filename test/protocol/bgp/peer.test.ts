import { expect } from 'chai';
import { BgpFault } from '../../../protocol/bgp/error.ts';
import type { Message } from '../../../protocol/bgp/message.ts';
import {
  acceptsIncoming,
  initialPeerState,
  type PeerState,
  peerStateName,
  stepPeer,
  timersRunning,
} from '../../../protocol/bgp/peer.ts';
import type { PeerEvent, SessionConfig, Side } from '../../../protocol/bgp/session.ts';
import { CONFIG, formatSided, peerOpen } from './session-fixtures.ts';

const SHUTDOWN: PeerEvent = {
  kind: 'stop',
  reason: { kind: 'cease', subcode: 2, text: 'bye' },
};
const GRACEFUL = {
  kind: 'graceful-restart',
  restarting: false,
  notification: false,
  restartTimeSeconds: 30,
  families: [{ afi: 1, safi: 1, forwarding: true }],
} as const;

/** A machine and what it said last. */
class Peer {
  readonly config: SessionConfig;
  state: PeerState = initialPeerState();

  constructor(changes: Partial<SessionConfig> = {}) {
    this.config = { ...CONFIG, ...changes };
  }

  get name(): string {
    return peerStateName(this.state);
  }

  get timers(): string[] {
    return timersRunning(this.state).map((running) =>
      'side' in running ? `${running.side} ${running.timer}` : running.timer,
    );
  }

  do(event: PeerEvent): string {
    const { state, actions } = stepPeer(this.state, event, this.config);
    this.state = state;
    return actions.map(formatSided).join(', ');
  }

  receive(side: Side, message: Message): string {
    return this.do({ kind: 'message', side, message });
  }

  notification(side: Side, code: number, subcode: number): string {
    return this.receive(side, { kind: 'notification', code, subcode, data: new Uint8Array(0) });
  }

  establish(side: Side, open = peerOpen()): string {
    if (this.state.mode === 'stopped') this.do({ kind: 'start' });
    this.do({ kind: 'connected', side });
    this.receive(side, open);
    return this.receive(side, { kind: 'keepalive' });
  }
}

function fault(code: number, subcode: number): BgpFault {
  return new BgpFault({ code, subcode, detail: 'as the test wants' });
}

describe('the peer machine', () => {
  it('dials, exchanges OPEN and KEEPALIVE, and is established', () => {
    const peer = new Peer();
    expect(peer.do({ kind: 'start' })).to.equal('out +connect-retry 20~, dial');
    expect(peer.do({ kind: 'connected', side: 'out' })).to.equal(
      'out -connect-retry, out OPEN, out +hold 240',
    );
    expect(peer.receive('out', peerOpen())).to.equal(
      'out KEEPALIVE, out +keepalive 30~, out +hold 90',
    );
    expect(peer.receive('out', { kind: 'keepalive' })).to.equal(
      'out +hold 90, out +send-hold 480, out up',
    );
    expect(peer.name).to.equal('established');
    expect(peer.timers).to.have.members(['out hold', 'out keepalive', 'out send-hold']);
  });

  it('takes a connection of the neighbour while its own dial is under way, and gives the dial up at the OPEN', () => {
    const peer = new Peer();
    peer.do({ kind: 'start' });
    expect(peer.do({ kind: 'connected', side: 'in' })).to.equal('in OPEN, in +hold 240');
    expect(peer.state.out.kind).to.equal('connect');
    expect(peer.receive('in', peerOpen())).to.equal(
      'in KEEPALIVE, in +keepalive 30~, in +hold 90, out -connect-retry, out abort, out down collision',
    );
    peer.receive('in', { kind: 'keepalive' });
    expect(peer.name).to.equal('established');
    expect(peer.state.out.kind).to.equal('idle');
  });

  it('waits for the neighbour if passive, with no timer and no dial, before and after a session', () => {
    const peer = new Peer({ passive: true, acceptIncoming: false });
    expect(peer.do({ kind: 'start' })).to.equal('');
    expect([peer.name, peer.timers]).to.deep.equal(['active', []]);
    peer.establish('in');
    expect(peer.name).to.equal('established');
    peer.do({ kind: 'disconnected', side: 'in', detail: 'reset' });
    expect([peer.name, peer.timers]).to.deep.equal(['active', []]);
  });

  it('sends Cease with the text on stop, closes when it has left, and leaves nothing', () => {
    const peer = new Peer();
    peer.establish('out');
    expect(peer.do(SHUTDOWN)).to.equal(
      'out -hold, out -keepalive, out -send-hold, out NOTIFICATION 6/2 03627965, out +close 3, out session down stopped',
    );
    expect(peer.name).to.equal('closing');
    expect(peer.do(SHUTDOWN)).to.equal('');
    expect(peer.do({ kind: 'flushed', side: 'out' })).to.equal('out -close, out close');
    expect([peer.name, peer.timers]).to.deep.equal(['idle', []]);
    expect(peer.do(SHUTDOWN)).to.equal('');
  });

  it('cuts the connection when the Cease cannot leave', () => {
    const peer = new Peer();
    peer.establish('out');
    peer.do(SHUTDOWN);
    expect(peer.do({ kind: 'timer', timer: 'close', side: 'out' })).to.equal(
      'out -close, out abort',
    );
    expect(peer.name).to.equal('idle');
  });

  it('dials at once when started again, also while the last NOTIFICATION is still leaving', () => {
    const peer = new Peer();
    peer.establish('out');
    peer.do(SHUTDOWN);
    expect(peer.do({ kind: 'start' })).to.equal('');
    expect(peer.do({ kind: 'flushed', side: 'out' })).to.equal(
      'out -close, out close, out +connect-retry 20~, dial',
    );
    expect(peer.do({ kind: 'start' })).to.equal('');
  });

  it('answers a message that cannot be read by where it came, before by what is wrong in it', () => {
    const said = (code: number) => {
      const peer = new Peer();
      peer.do({ kind: 'start' });
      peer.do({ kind: 'connected', side: 'out' });
      const text = peer.do({ kind: 'fault', side: 'out', fault: fault(code, 1) });
      return /NOTIFICATION \d\/\d( \w\w)?/.exec(text)?.[0];
    };
    expect(said(1)).to.equal('NOTIFICATION 1/1');
    expect(said(2)).to.equal('NOTIFICATION 2/1');
    expect(said(3)).to.equal('NOTIFICATION 5/1 02');
    expect(said(7)).to.equal('NOTIFICATION 5/1 05');
  });

  it('ends both connections on stop', () => {
    const peer = new Peer();
    peer.do({ kind: 'start' });
    peer.do({ kind: 'connected', side: 'out' });
    peer.do({ kind: 'connected', side: 'in' });
    peer.do(SHUTDOWN);
    expect([peer.state.out.kind, peer.state.in.kind]).to.deep.equal(['closing', 'closing']);
    peer.do({ kind: 'flushed', side: 'in' });
    expect(peer.do({ kind: 'disconnected', side: 'out', detail: 'reset' })).to.equal('out -close');
    expect([peer.name, peer.timers]).to.deep.equal(['idle', []]);
  });
});

describe('incoming connections', () => {
  it('are rejected with 6/5 by a stopped neighbour, during an idle hold, and if not wanted', () => {
    const rejected = 'in NOTIFICATION 6/5, in +close 3';
    const connected: PeerEvent = { kind: 'connected', side: 'in' };
    expect(new Peer().do(connected)).to.equal(rejected);

    const held = new Peer();
    held.establish('out');
    held.do({ kind: 'fault', side: 'out', fault: fault(3, 1) });
    held.do({ kind: 'flushed', side: 'out' });
    expect(held.do(connected)).to.equal(rejected);

    const dialling = new Peer({ acceptIncoming: false });
    dialling.do({ kind: 'start' });
    expect(dialling.do(connected)).to.equal(rejected);
    expect(dialling.state.out.kind).to.equal('connect');
    expect(dialling.do({ kind: 'flushed', side: 'in' })).to.equal('in -close, in close');
  });

  it('get 6/7 and no OPEN while a session is established', () => {
    const peer = new Peer();
    peer.establish('out');
    expect(peer.do({ kind: 'connected', side: 'in' })).to.equal('in NOTIFICATION 6/7, in +close 3');
    peer.do({ kind: 'flushed', side: 'in' });
    expect(peer.name).to.equal('established');
  });

  it('are refused if there are two connections already', () => {
    const peer = new Peer();
    peer.do({ kind: 'start' });
    expect(acceptsIncoming(peer.state, peer.config)).to.equal('accept');
    peer.do({ kind: 'connected', side: 'in' });
    expect(acceptsIncoming(peer.state, peer.config)).to.equal('refuse');
    expect(peer.do({ kind: 'connected', side: 'in' })).to.equal('');
    peer.establish('in');
    expect(acceptsIncoming(peer.state, peer.config)).to.equal('refuse');
  });

  it('replace one that is only waiting for its NOTIFICATION to leave, unless stopped', () => {
    const peer = new Peer();
    peer.do({ kind: 'start' });
    peer.do({ kind: 'connected', side: 'in' });
    peer.do({ kind: 'timer', timer: 'hold', side: 'in' });
    expect(peer.state.in.kind).to.equal('closing');
    expect(acceptsIncoming(peer.state, peer.config)).to.equal('replace');
    peer.do(SHUTDOWN);
    expect(acceptsIncoming(peer.state, peer.config)).to.equal('refuse');
  });

  it('replace the established session of a neighbour with graceful restart, without NOTIFICATION', () => {
    const peer = new Peer();
    peer.establish('out', peerOpen({ capabilities: [...CONFIG.capabilities, GRACEFUL] }));
    peer.do({ kind: 'timer', timer: 'keepalive', side: 'out' });
    expect(peer.do({ kind: 'connected', side: 'in' })).to.equal(
      'out abort, out -hold, out -keepalive, out -send-hold, out session down disconnected, ' +
        'in OPEN, in +hold 240, out +connect-retry 20~',
    );
    peer.receive('in', peerOpen());
    peer.receive('in', { kind: 'keepalive' });
    expect(peer.state.in.kind).to.equal('established');

    const dialledByThem = new Peer();
    dialledByThem.establish('in', peerOpen({ capabilities: [...CONFIG.capabilities, GRACEFUL] }));
    dialledByThem.do({ kind: 'timer', timer: 'keepalive', side: 'in' });
    expect(acceptsIncoming(dialledByThem.state, dialledByThem.config)).to.equal('replace');
  });

  it('do not replace the session of a neighbour that only helps others to restart (RFC 4724 §5)', () => {
    const helper = { ...GRACEFUL, families: [] };
    const peer = new Peer();
    peer.establish('out', peerOpen({ capabilities: [...CONFIG.capabilities, helper] }));
    peer.do({ kind: 'timer', timer: 'keepalive', side: 'out' });
    expect(peer.do({ kind: 'connected', side: 'in' })).to.equal('in NOTIFICATION 6/7, in +close 3');
    expect(peer.state.out.kind).to.equal('established');
  });

  it('do not replace a session younger than a keepalive: that may be a dial that crossed ours', () => {
    const peer = new Peer();
    peer.establish('out', peerOpen({ capabilities: [...CONFIG.capabilities, GRACEFUL] }));
    expect(peer.do({ kind: 'connected', side: 'in' })).to.equal('in NOTIFICATION 6/7, in +close 3');
    expect(peer.state.out.kind).to.equal('established');
  });
});

describe('collision', () => {
  const both = (routerId: number) => {
    const peer = new Peer({ routerId });
    peer.do({ kind: 'start' });
    peer.do({ kind: 'connected', side: 'out' });
    peer.do({ kind: 'connected', side: 'in' });
    return peer;
  };
  const theirs = peerOpen({ routerId: 5 });

  for (const first of ['out', 'in'] as const) {
    const second = first === 'out' ? 'in' : 'out';
    for (const [routerId, survivor] of [
      [9, 'out'],
      [1, 'in'],
    ] as const) {
      const loser = survivor === 'out' ? 'in' : 'out';
      it(`keeps ${survivor} with identifier ${routerId} against 5, OPEN on ${first} first`, () => {
        const peer = both(routerId);
        peer.receive(first, theirs);
        expect([peer.state.out.kind, peer.state.in.kind]).to.have.members([
          'open-confirm',
          'open-sent',
        ]);
        const said = peer.receive(second, theirs);
        expect(peer.state[survivor].kind).to.equal('open-confirm');
        expect(peer.state[loser].kind).to.equal('closing');
        expect(said).to.contain(`${loser} NOTIFICATION 6/7`).and.contain(`${loser} down collision`);
        // the connection that loses at its own OPEN is not acknowledged first
        if (loser === second) expect(said).not.to.contain('KEEPALIVE');
        peer.do({ kind: 'flushed', side: loser });
        peer.receive(survivor, { kind: 'keepalive' });
        expect(peer.state[survivor].kind).to.equal('established');
        expect(peer.state[loser].kind).to.equal('idle');
      });
    }
  }

  it('leaves the other connection alone when an OPEN is refused', () => {
    const peer = both(1);
    peer.receive('out', theirs);
    peer.receive('in', peerOpen({ routerId: 5, localAsn: 65009 }));
    expect([peer.state.out.kind, peer.state.in.kind]).to.deep.equal(['open-confirm', 'closing']);
    expect(peer.state.mode).to.equal('running');
  });

  /** a session on `out`, and the neighbour's OPEN on `in`, which has precedence */
  const undecided = () => {
    const peer = both(1);
    peer.receive('out', theirs);
    peer.receive('out', { kind: 'keepalive' });
    expect(peer.receive('in', theirs)).to.equal('in +hold 10');
    expect([peer.state.out.kind, peer.state.in.kind]).to.deep.equal(['established', 'open-sent']);
    return peer;
  };

  it('keeps an Established session when the neighbour closes the new connection (§6.8)', () => {
    const peer = undecided();
    peer.notification('in', 6, 7);
    expect([peer.state.out.kind, peer.state.in.kind]).to.deep.equal(['established', 'idle']);
    expect(peer.state).not.to.have.property('deferred');
  });

  it('keeps an Established session when nothing shows what the neighbour chose', () => {
    const peer = undecided();
    const said = peer.do({ kind: 'timer', timer: 'hold', side: 'in' });
    expect(said).to.contain('in NOTIFICATION 6/7').and.contain('in down collision');
    expect(peer.state.out.kind).to.equal('established');
    expect(peer.state).not.to.have.property('deferred');
  });

  it('goes on with the new connection when the neighbour drops the Established one for it', () => {
    const peer = undecided();
    const said = peer.notification('out', 6, 7);
    expect(said).to.contain('out session down').and.contain('in KEEPALIVE');
    expect(peer.state.in.kind).to.equal('open-confirm');
    peer.receive('in', { kind: 'keepalive' });
    expect(peer.state.in.kind).to.equal('established');
  });

  it('goes over to the new connection when a KEEPALIVE says that the neighbour has chosen it', () => {
    const peer = undecided();
    const said = peer.receive('in', { kind: 'keepalive' });
    expect(said).to.contain('out session down collision').and.contain('in KEEPALIVE');
    expect([peer.state.out.kind, peer.state.in.kind]).to.deep.equal(['closing', 'established']);
  });

  it('closes the new connection at once when the Established one has precedence', () => {
    const peer = both(9);
    peer.receive('out', theirs);
    peer.receive('out', { kind: 'keepalive' });
    expect(peer.receive('in', theirs)).to.contain('in NOTIFICATION 6/7');
    expect(peer.state.out.kind).to.equal('established');
  });

  it('forgets an OPEN that was put aside when it is stopped', () => {
    const peer = undecided();
    peer.do(SHUTDOWN);
    expect(peer.state).not.to.have.property('deferred');
    expect(peer.timers).to.deep.equal(['out close', 'in close']);
  });
});

describe('what follows a failure', () => {
  it('is a retry at the pace of the connect retry timer after TCP was refused, for ever the same', () => {
    const peer = new Peer();
    peer.do({ kind: 'start' });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(peer.do({ kind: 'disconnected', side: 'out', detail: 'refused' })).to.equal(
        'out -connect-retry, out down disconnected, out +connect-retry 20~',
      );
      expect(peer.do({ kind: 'timer', timer: 'connect-retry', side: 'out' })).to.equal(
        'out +connect-retry 20~, dial',
      );
    }
  });

  /** how the end of a session is answered: by a retry or by an idle hold */
  const timersAfter = (end: (peer: Peer) => void): string[] => {
    const peer = new Peer();
    peer.establish('out');
    end(peer);
    peer.do({ kind: 'flushed', side: 'out' });
    return peer.timers;
  };
  const RETRY = ['out connect-retry'];
  const HELD = ['idle-hold'];

  it('is a retry when the neighbour vanished, froze, or was stopped by its operator', () => {
    expect(timersAfter((p) => p.do({ kind: 'disconnected', side: 'out', detail: '' }))).to.eql(
      RETRY,
    );
    expect(timersAfter((p) => p.do({ kind: 'timer', timer: 'hold', side: 'out' }))).to.eql(RETRY);
    expect(timersAfter((p) => p.do({ kind: 'timer', timer: 'send-hold', side: 'out' }))).to.eql(
      RETRY,
    );
    for (const subcode of [2, 3, 4, 5, 6, 7, 9, 10]) {
      expect(timersAfter((p) => p.notification('out', 6, subcode))).to.eql(RETRY);
    }
    expect(timersAfter((p) => p.notification('out', 4, 0))).to.eql(RETRY);
  });

  it('is a retry after 2/1 from the neighbour (event 24), an idle hold if we sent it', () => {
    expect(timersAfter((p) => p.notification('out', 2, 1))).to.eql(RETRY);
    const peer = new Peer();
    peer.do({ kind: 'start' });
    peer.do({ kind: 'connected', side: 'out' });
    const said = peer.do({ kind: 'fault', side: 'out', fault: fault(2, 1) });
    expect(said).to.contain('+idle-hold 10~');
  });

  it('is an idle hold after an error that would only repeat', () => {
    expect(timersAfter((p) => p.do({ kind: 'fault', side: 'out', fault: fault(3, 1) }))).to.eql(
      HELD,
    );
    expect(timersAfter((p) => p.do({ kind: 'fault', side: 'out', fault: fault(1, 1) }))).to.eql(
      HELD,
    );
    expect(timersAfter((p) => p.receive('out', peerOpen()))).to.eql(HELD);
    for (const [code, subcode] of [
      [6, 1],
      [6, 8],
      [3, 1],
      [5, 0],
      [2, 2],
      [1, 1],
      [99, 0],
    ] as const) {
      expect(timersAfter((p) => p.notification('out', code, subcode))).to.eql(HELD);
    }
  });

  it('doubles the idle hold up to the maximum while the error comes back', () => {
    const peer = new Peer();
    peer.do({ kind: 'start' });
    const holds: string[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) {
      peer.do({ kind: 'connected', side: 'out' });
      const said = peer.receive('out', peerOpen({ localAsn: 65009 }));
      holds.push(/\+idle-hold \S+/.exec(said)?.[0] ?? said);
      peer.do({ kind: 'flushed', side: 'out' });
      expect(peer.name).to.equal('idle');
      expect(peer.do({ kind: 'timer', timer: 'idle-hold' })).to.equal(
        'out +connect-retry 20~, dial',
      );
    }
    expect(holds).to.deep.equal(
      [10, 20, 40, 80, 80, 80].map((seconds) => `+idle-hold ${seconds}~`),
    );
  });

  it('forgives when a session has been up for the maximum, and not before', () => {
    const peer = new Peer();
    peer.establish('out');
    peer.do({ kind: 'fault', side: 'out', fault: fault(3, 1) });
    peer.do({ kind: 'flushed', side: 'out' });
    peer.do({ kind: 'timer', timer: 'idle-hold' });
    expect(peer.establish('out')).to.contain('+idle-hold 80');
    expect(peer.do({ kind: 'disconnected', side: 'out', detail: '' })).to.contain('-idle-hold');
    peer.do({ kind: 'timer', timer: 'connect-retry', side: 'out' });
    peer.establish('out');
    // still on record: the next error doubles
    expect(peer.do({ kind: 'fault', side: 'out', fault: fault(3, 1) })).to.contain(
      '+idle-hold 20~',
    );
    peer.do({ kind: 'flushed', side: 'out' });
    peer.do({ kind: 'timer', timer: 'idle-hold' });
    peer.establish('out');
    expect(peer.do({ kind: 'timer', timer: 'idle-hold' })).to.equal('');
    expect(peer.name).to.equal('established');
    expect(peer.timers).not.to.contain('idle-hold');
    expect(peer.do({ kind: 'fault', side: 'out', fault: fault(3, 1) })).to.contain(
      '+idle-hold 10~',
    );
  });

  it('stops the other attempt with an idle hold, and starts afresh after a stop', () => {
    const peer = new Peer();
    peer.do({ kind: 'start' });
    peer.do({ kind: 'connected', side: 'in' });
    const said = peer.receive('in', peerOpen({ localAsn: 65009 }));
    expect(said).to.contain('+idle-hold 10~').and.contain('out abort');
    expect(peer.do(SHUTDOWN)).to.equal('-idle-hold');
    peer.do({ kind: 'flushed', side: 'in' });
    expect([peer.name, peer.timers]).to.deep.equal(['idle', []]);
    expect(peer.do({ kind: 'start' })).to.equal('out +connect-retry 20~, dial');
  });
});
