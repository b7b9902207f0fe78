/** One address, several Services: which of them decides whether a node announces it. */

import { expect } from 'chai';
import { serviceGate } from '../../../src/agent/service-gate.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { claim, sourced, view } from './scenery.ts';

const AT = '198.51.100.1';

function shared(...ports: readonly (number | undefined)[]): Sourced<IpClaim> {
  const services = ports.map((healthCheckNodePort, index) => {
    const service = { namespace: 'a', name: `s${index}` };
    return healthCheckNodePort === undefined ? service : { ...service, healthCheckNodePort };
  });
  return { ...sourced(claim({ at: AT, services })), source: 'api', createdMs: Infinity };
}

function stateOf(
  of: Sourced<IpClaim>,
  ports: readonly (readonly [number, 'serving' | 'empty'])[],
  trusted: readonly number[] = [],
): string {
  const serviceFacts = {
    ports: new Map(ports),
    trusted: new Map([[of.object.name, new Set(trusted)]]),
    waiting: new Map(),
    isProxyUnwell: false,
  };
  const gate = serviceGate(of, view({ serviceFacts }))?.gate;
  if (gate === undefined) return 'open';
  return gate.isUnknown === true ? 'unknown' : gate.state;
}

describe('the gate of an address that Services share', () => {
  it('is open where one of them has an endpoint: none takes the route from the others', () => {
    expect(
      stateOf(shared(1, 2), [
        [1, 'serving'],
        [2, 'empty'],
      ]),
    ).to.equal('open');
    expect(
      stateOf(shared(1, 2), [
        [1, 'empty'],
        [2, 'serving'],
      ]),
    ).to.equal('open');
    expect(
      stateOf(shared(1, 2), [
        [1, 'empty'],
        [2, 'empty'],
      ]),
    ).to.equal('closed');
  });

  it('is open beside one that is served on every node', () => {
    expect(stateOf(shared(undefined, 2), [[2, 'empty']])).to.equal('open');
    expect(stateOf(shared(1, undefined), [])).to.equal('open');
  });

  it('waits for what one of them has still to say, unless it was announced all along', () => {
    expect(stateOf(shared(1, 2), [[1, 'empty']])).to.equal('unknown');
    expect(stateOf(shared(1, 2), [[2, 'empty']])).to.equal('unknown');
    expect(stateOf(shared(1, 2), [[2, 'empty']], [1])).to.equal('open');
    expect(stateOf(shared(1), [[1, 'empty']], [1])).to.equal('closed');
  });
});
