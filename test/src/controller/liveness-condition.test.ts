import { expect } from 'chai';
import { aliveCondition } from '../../../src/controller/liveness-condition.ts';

const told = (life: Parameters<typeof aliveCondition>[0]['life'], isJoined = true) =>
  aliveCondition({ life, isJoined });

describe('the condition AgentAlive', () => {
  it('says nothing of whom nobody knows yet', () => {
    expect(told('unproven')).to.equal(undefined);
  });

  it('tells life from death, and death from our own blindness', () => {
    expect(told('alive')).to.include({ status: 'True', reason: 'LeaseRenewed' });
    expect(told('dead')).to.include({ status: 'False', reason: 'LeaseExpired' });
    expect(told('silent')).to.include({ status: 'False', reason: 'LeaseExpired' });
    expect(told('unheard')).to.include({ status: 'Unknown', reason: 'ControllerBlind' });
  });

  it('calls an agent that gave its Lease back stopped only where it serves no more', () => {
    expect(told('released', false)).to.include({ status: 'False', reason: 'AgentStopped' });
    expect(told('released')).to.include({ status: 'Unknown', reason: 'NoLease' });
  });
});
