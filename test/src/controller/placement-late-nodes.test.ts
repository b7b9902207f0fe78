/** Nodes that are heard of after the EndpointSlices that name them: who can announce the claims of Local Services changes then, too. */

import { expect } from 'chai';
import { nodeLabel } from '../../../src/model/names.ts';
import {
  ENDPOINT_SLICES,
  IP_NODES,
  inNamespace,
  NODES,
} from '../../../src/sources/kube/resources.ts';
import { claimName, exclusivePool } from '../../support/fake-agents.ts';
import { Bed } from './placement-bed.ts';

const LOCAL = { services: [{ namespace: 'n', name: 'web', healthCheckNodePort: 32_000 }] };
/** a refusing holder has 10 s, and the next one is asked */
const SOON = 30;

describe('the claim of a Local Service, where a node is heard of after the slice that names it', () => {
  let bed: Bed;

  beforeEach(() => {
    bed = new Bed(exclusivePool('p'));
  });
  afterEach(() => bed.stop());

  function slice(node: string): void {
    const labels = { 'kubernetes.io/service-name': 'web' };
    const endpoints = [{ nodeName: node, conditions: { ready: true }, addresses: ['10.9.9.9'] }];
    const metadata = { name: 'web-1', namespace: 'n', labels };
    const body = { metadata, addressType: 'IPv4', endpoints };
    bed.api.put(inNamespace(ENDPOINT_SLICES, 'n'), body);
  }

  function hold(node: string): void {
    slice(node);
    bed.claim(0, { pool: 'p', node, ...LOCAL }, { [nodeLabel(node)]: '0' });
  }

  async function becomes(node: string): Promise<void> {
    for (let second = 0; second < SOON && bed.node(0) !== node; second += 1) await bed.run(1);
    expect(bed.node(0)).to.equal(node);
  }

  it('goes to a machine whose Node and IPNode come seconds after the pod', async () => {
    await bed.join('a', 'b');
    hold('a');
    bed.control();
    await bed.run(20);
    slice('c');
    for (const name of ['a', 'b']) bed.agent(name).refusing.add(claimName(0));
    await bed.run(5);
    await bed.join('c');
    await becomes('c');
  });

  it('goes back to a machine that was off, and whose Node was deleted meanwhile', async () => {
    await bed.join('a', 'b', 'c');
    hold('c');
    for (const name of ['a', 'b']) bed.agent(name).refusing.add(claimName(0));
    bed.control();
    await bed.run(20);
    bed.agent('c').isSilent = true;
    await bed.run(30);
    await bed.api.delete(NODES, 'c', {});
    bed.api.remove(IP_NODES, 'c');
    await bed.run(60);
    expect(bed.node(0), 'it is away').to.not.equal('c');
    bed.agent('c').isSilent = false;
    await bed.agent('c').join();
    await becomes('c');
  });
});
