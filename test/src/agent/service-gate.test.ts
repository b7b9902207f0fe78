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

  it('names its Services where they are of one namespace, and none where the owner of another reads it', () => {
    const sentence = (services: readonly { namespace: string; name: string }[], said: string) => {
      const local = services.map((each, index) => ({ ...each, healthCheckNodePort: index + 1 }));
      const of = sourced(claim({ at: AT, services: local }));
      const ports = new Map(said === '' ? [] : local.map((_, at) => [at + 1, 'empty'] as const));
      const serviceFacts = { ports, trusted: new Map(), waiting: new Map(), isProxyUnwell: false };
      const gate = serviceGate({ ...of, source: 'api' }, view({ serviceFacts }))?.gate;
      return gate?.sentence;
    };
    const own = [
      { namespace: 'a', name: 'x' },
      { namespace: 'a', name: 'y' },
    ];
    expect(sentence(own, 'empty')).to.include('Service a/x (externalTrafficPolicy: Local) has no');
    const [first] = own;
    const two = [...(first === undefined ? [] : [first]), { namespace: 'b', name: 'secret' }];
    for (const said of ['empty', '']) {
      expect(sentence(two, said)).to.match(/a Service of this address \(externalTrafficPolicy/);
    }
  });
});
