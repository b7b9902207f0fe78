/**
 * Claims of a pool that becomes exclusive: who announces them until every node that announced them
 * knows, or is gone.
 */

import { expect } from 'chai';
import {
  ANYCAST_LABEL,
  NAMESPACE,
  nodeLabel,
  nodeLease,
  RESTARTING_ANNOTATION,
} from '../../../src/model/names.ts';
import { IP_POOLS, LEASES, NODES } from '../../../src/sources/kube/resources.ts';
import { exclusivePool } from '../../support/fake-agents.ts';
import { Bed } from './placement-bed.ts';

describe('a claim that became exclusive while a node that announces it is cut off from the API', () => {
  let bed: Bed;
  afterEach(() => bed.stop());

  const anycast = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
  const label = () => nodeLabel(String(bed.node(0)));
  const alone = () => expect(bed.labels(0)).to.deep.equal({ [label()]: '0' });

  const ofEdge = {
    placement: {
      mode: 'exclusive',
      nodeFilter: 'fair',
      prependStep: 3,
      nodeSelector: { matchLabels: { edge: 'yes' } },
    },
  };

  /** all but c */
  function labelEdge(): void {
    for (const name of ['a', 'b']) {
      const node = bed.api.object(NODES, name);
      const metadata = { ...node?.metadata, name, labels: { edge: 'yes' } };
      bed.api.put(NODES, { ...node, metadata });
    }
  }

  it('is announced by all also where its nodeSelector leaves that node out', async () => {
    bed = new Bed(exclusivePool('p', { placement: anycast }));
    await bed.join('a', 'b', 'c');
    labelEdge();
    bed.claim(0);
    bed.control();
    await bed.run(12);
    bed.agent('c').isSilent = true;
    await bed.run(25);
    const metadata = { name: 'p', generation: 2 };
    bed.api.put(IP_POOLS, { ...exclusivePool('p', ofEdge), metadata });
    await bed.run(30);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
    const said = () => JSON.stringify(bed.status(0) ?? {});
    expect(said(), 'it may answer yet').to.not.include('AwaitingNodes');
    await bed.run(150);
    expect(said()).to.include('AwaitingNodes');
    bed.agent('c').isSilent = false;
    await bed.run(12);
    alone();
  });

  it('has its holder alone once a node that its nodeSelector leaves out, and that has no Lease, has taken that up', async () => {
    await begin();
    labelEdge();
    const metadata = { name: 'p', generation: 3 };
    bed.api.put(IP_POOLS, { ...exclusivePool('p', ofEdge), metadata });
    bed.api.remove(LEASES, `${NAMESPACE}/${nodeLease('c')}`);
    await bed.run(30);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
    await bed.agent('c').answer();
    await bed.run(62);
    alone();
  });

  it('is announced by all also where its nodeSelector leaves that node out later', async () => {
    await begin();
    labelEdge();
    const metadata = { name: 'p', generation: 3 };
    bed.api.put(IP_POOLS, { ...exclusivePool('p', ofEdge), metadata });
    await bed.run(90);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
    bed.agent('c').isSilent = false;
    await bed.run(12);
    alone();
  });

  async function begin(more: { maxStaleMs?: number } = {}, silentFor = 25): Promise<void> {
    bed = new Bed(exclusivePool('p', { placement: anycast }));
    await bed.join('a', 'b', 'c');
    bed.claim(0);
    bed.control(more);
    await bed.run(12);
    bed.agent('c').isSilent = true;
    await bed.run(silentFor);
    bed.api.put(IP_POOLS, { ...exclusivePool('p'), metadata: { name: 'p', generation: 2 } });
    await bed.run(30);
  }

  it('is announced by all until that node is back, and says so', async () => {
    await begin();
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
    const [condition] = Object(bed.status(0))['conditions'];
    expect(condition).to.deep.include({ status: 'True', reason: 'AwaitingNodes' });
    expect(condition.message).to.include('(c did not when this was written)');
    bed.agent('c').isSilent = false;
    await bed.run(12);
    alone();
    expect(Object(bed.status(0))['conditions'][0].reason).to.equal('Exclusive');
  });

  it('has one status for that, whoever else is waited for meanwhile: all agents read it', async () => {
    await begin();
    const before = bed.writes().length;
    for (const name of ['a', 'b']) bed.agent(name).isSilent = name !== bed.node(0);
    await bed.run(120);
    expect(bed.writes()).to.have.length(before);
  });

  it('is announced by all also where another one that had taken it up is cut off later, and the first is gone', async () => {
    await begin();
    const other = bed.node(0) === 'a' ? 'b' : 'a';
    bed.agent(other).isSilent = true;
    await bed.run(40);
    bed.api.remove(NODES, 'c');
    await bed.run(62);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
    bed.agent(other).isSilent = false;
    await bed.run(12);
    alone();
  });

  it('has its holder alone where one that had taken it up has stopped since, and the first is gone', async () => {
    await begin();
    await bed.agent(bed.node(0) === 'a' ? 'b' : 'a').release();
    bed.api.remove(NODES, 'c');
    await bed.run(62);
    alone();
  });

  it('is announced by all also where its Lease has not run out yet', async () => {
    await begin({}, 1);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
  });

  for (const stall of [0, 5, 12, 30]) {
    it(`is announced by all also after ${stall} s in which nobody was heard`, async () => {
      bed = new Bed(exclusivePool('p', { placement: anycast }));
      await bed.join('a', 'b', 'c');
      bed.claim(0);
      bed.control({ maxStaleMs: 86_400_000 });
      await bed.run(12);
      bed.agent('c').isSilent = true;
      await bed.run(1);
      bed.api.put(IP_POOLS, { ...exclusivePool('p'), metadata: { name: 'p', generation: 2 } });
      await bed.run(4);
      bed.isFrozen = true;
      await bed.run(stall);
      bed.isFrozen = false;
      await bed.run(90);
      expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
      bed.agent('c').isSilent = false;
      await bed.run(12);
      alone();
    });
  }

  for (const renewedFor of [3, 8]) {
    it(`is announced by all while that node is away for a planned restart, ${renewedFor} s after the edit`, async () => {
      bed = new Bed(exclusivePool('p', { placement: anycast }));
      await bed.join('a', 'b', 'c');
      bed.claim(0);
      bed.control();
      await bed.run(20);
      bed.agent('c').answer = async () => new Map();
      bed.api.put(IP_POOLS, { ...exclusivePool('p'), metadata: { name: 'p', generation: 2 } });
      await bed.run(renewedFor);
      bed.agent('c').isSilent = true;
      const annotations = { [RESTARTING_ANNOTATION]: '120' };
      const spec = { renewTime: '2026-06-01T00:00:00.000000Z' };
      const body = { metadata: { annotations }, spec };
      await bed.api.patch(LEASES, nodeLease('c'), { kind: 'merge', body });
      await bed.run(30);
      expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label()]: '0' });
      // as the next process does, which says nothing of a restart
      const done = { metadata: { annotations: { [RESTARTING_ANNOTATION]: null } } };
      await bed.api.patch(LEASES, nodeLease('c'), { kind: 'merge', body: done });
      bed.agent('c').isSilent = false;
      await bed.run(20);
      alone();
    });
  }

  it('has its holder alone where nodes renew their Leases and write nothing else', async () => {
    await begin({}, 0);
    bed.isAnswering = false;
    bed.agent('c').isSilent = false;
    await bed.run(40);
    alone();
  });

  it('has its holder alone once that Node is gone', async () => {
    await begin();
    bed.api.remove(NODES, 'c');
    await bed.run(62);
    alone();
  });

  it('has its holder alone after the time for which such a node may go on', async () => {
    await begin({ maxStaleMs: 60_000 });
    await bed.run(90);
    alone();
  });
});
