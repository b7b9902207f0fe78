/** What the router serves to other programs, over real HTTP on the loopback. */

import { address } from 'bgp-ts';
import { expect } from 'chai';
import { RouterReport } from '../../../src/cli/router-report.ts';
import type { PeerView, RouterEvent, RouteView } from '../../../src/router/events.ts';
import { RouterHttp } from '../../../src/router/http.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const ROUTES: readonly RouteView[] = [
  {
    prefix: '198.51.100.7/32',
    nextHops: [{ address: '192.0.2.11', peer: '192.0.2.11', best: true }],
  },
];
const PEERS: readonly PeerView[] = [
  {
    peer: '192.0.2.11',
    state: 'established',
    since: '2026-01-01T00:00:00.000Z',
    routes: 1,
    rejected: 0,
  },
];

describe('the router over HTTP', () => {
  const subscribers = new Set<(event: RouterEvent) => void>();
  const http = new RouterHttp({
    routes: () => ROUTES,
    peers: () => PEERS,
    subscribe: (onEvent) => {
      subscribers.add(onEvent);
      return () => subscribers.delete(onEvent);
    },
  });
  let base = '';

  before(async () => {
    const { port } = await http.start({ address: address('127.0.0.1'), port: 0 });
    base = `http://127.0.0.1:${port}`;
  });
  after(async () => {
    await http.stop();
    expect(subscribers.size, 'subscriptions that are left').to.equal(0);
  });

  it('serves routes and peers as JSON', async () => {
    const routes = await fetch(`${base}/routes?x=1`);
    expect(routes.headers.get('content-type')).to.match(/^application\/json/);
    expect(await routes.json()).to.deep.equal({ routes: ROUTES });
    expect(await (await fetch(`${base}/peers`)).json()).to.deep.equal({ peers: PEERS });
  });

  it('is read-only, and says what there is', async () => {
    expect((await fetch(`${base}/routes`, { method: 'POST' })).status).to.equal(405);
    const unknown = await fetch(`${base}/secrets`);
    expect(unknown.status).to.equal(404);
    expect(JSON.stringify(await unknown.json())).to.include('/routes');
  });

  it('reads nothing of an event that nobody follows', () => {
    let reads = 0;
    const event: RouterEvent = {
      kind: 'routes',
      get routes() {
        reads += 1;
        return [];
      },
    };
    for (const subscriber of subscribers) subscriber(event);
    const report = new RouterReport(process, 'info', new ManualClock());
    report.event(event);
    report.close();
    expect(reads).to.equal(0);
  });

  it('streams a snapshot, then what happens', async () => {
    const gone = new AbortController();
    const response = await fetch(`${base}/events`, { signal: gone.signal });
    expect(response.headers.get('content-type')).to.match(/^text\/event-stream/);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (part: string) => {
      while (!text.includes(part)) text += (await reader?.read())?.value ?? '';
    };
    await until('event: snapshot');
    await until('\n\n');
    for (const subscriber of subscribers) {
      subscriber({ kind: 'routes', routes: [{ prefix: '198.51.100.7/32', nextHops: [] }] });
    }
    await until('event: routes\ndata: {"routes":[{"prefix":"198.51.100.7/32","nextHops":[]}]}\n\n');
    const [, data = ''] = /event: snapshot\ndata: (.*)\n/.exec(text) ?? [];
    expect(JSON.parse(data)).to.deep.equal({ routes: ROUTES, peers: PEERS });
    gone.abort();
  });
});
