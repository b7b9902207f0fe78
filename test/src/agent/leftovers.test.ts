/**
 * What an agent that crashed has left in the kernel, and what could not be removed there: it goes
 * although nothing new is decided.
 */

import { type Prefix, type PrefixKey, parsePrefix, prefixKey, Speaker } from 'bgp-ts';
import { expect } from 'chai';
import { MemoryNetwork } from '../../../protocol/io/memory-transport.ts';
import { Agent } from '../../../src/agent/agent.ts';
import type { DiscardRoutes } from '../../../src/linux/discard-routes.ts';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { World } from './agent-and-router.ts';
import { pass } from './kube-report/passing.ts';
import { address, check, claim, documents } from './scenery.ts';

class LeftRoutes implements DiscardRoutes {
  readonly present = new Map<PrefixKey, Prefix>();
  /** so many removals fail */
  failures = 0;

  constructor(text: string) {
    const prefix = parsePrefix(text);
    if (prefix !== undefined) this.present.set(prefixKey(prefix), prefix);
  }

  list() {
    return new Map(this.present);
  }

  objections() {
    return new Map<PrefixKey, string>();
  }

  add() {
    return { kind: 'done', changed: true } as const;
  }

  remove(gone: Prefix) {
    if (this.failures > 0) {
      this.failures -= 1;
      return { kind: 'failed', sentence: 'the kernel is busy' } as const;
    }
    return { kind: 'done', changed: this.present.delete(prefixKey(gone)) } as const;
  }

  close() {}
}

function started(discards: DiscardRoutes): { readonly agent: Agent; readonly clock: ManualClock } {
  const clock = new ManualClock();
  const random = new SeededRandom(5);
  const transport = new MemoryNetwork({ clock, random }).host(address('192.0.2.10'));
  const agent = new Agent({
    clock,
    random,
    speaker: new Speaker({ clock, random, transport, interfaceAddresses: () => undefined }),
    listen: () => undefined,
    addresses: new MemoryAddressTable({ host: new MemoryHost() }),
    discards,
    probe: () => Promise.resolve({ ok: true, detail: '' }),
    readPassword: () => '',
    store: { load: () => undefined, save: () => undefined },
    log: SILENT_LOG,
    node: { name: 'n1', labels: {} },
    asn: 64512,
    routerId: 1,
    isRouterIdFixed: true,
    joinCheck: 'none',
    maxStaleMs: 1e9,
    source: 'files',
    version: 'test',
    pid: 1,
  });
  agent.start();
  return { agent, clock };
}

describe('a discard route that an agent before this one left', () => {
  it('goes when no documents have come for a while', async () => {
    const routes = new LeftRoutes('198.51.100.0/26');
    const { clock } = started(routes);
    await pass(clock, 1000);
    expect(routes.present.size, 'documents may want it in a moment').to.equal(1);
    await pass(clock, 60_000);
    expect(routes.present.size).to.equal(0);
  });

  it('is removed again and again where that fails, though nothing is decided', async () => {
    const routes = new LeftRoutes('198.51.100.0/26');
    routes.failures = 3;
    const { agent, clock } = started(routes);
    agent.setDocuments(documents({ peers: [], pools: [], claims: [] }));
    await pass(clock, 120_000);
    expect(routes.failures).to.equal(0);
    expect(routes.present.size).to.equal(0);
  });

  it('stays after a planned restart until End-of-RIB, with which routers drop its aggregate', async () => {
    const routes = new LeftRoutes('198.51.100.0/26');
    const labels = { [ANYCAST_LABEL]: '' };
    const target = { kind: 'tcp', host: '127.0.0.1', port: 80 } as const;
    const checks = [check('/x', { target })];
    const world = new World(
      [claim({ at: '198.51.100.1', labels }), claim({ at: '198.51.100.3', labels, checks })],
      true,
      { discards: routes },
    );
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1']);
    expect(routes.present.size, 'the check has not spoken').to.equal(1);
    await world.pass(2500);
    expect(world.heard.at(-1)).to.equal('end');
    expect(routes.present.size).to.equal(0);
  });
});
