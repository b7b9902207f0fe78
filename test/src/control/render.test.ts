/** What the look commands print: every line within the width, every address whole, colour only when told. */

import { ipv4, parseAddress } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { renderExplain } from '../../../src/control/render-explain.ts';
import { listRoutes, renderRoutes } from '../../../src/control/render-routes.ts';
import { renderStatus } from '../../../src/control/render-status.ts';
import type { Style } from '../../../src/control/style.ts';
import { formatTable } from '../../../src/control/table.ts';
import {
  claim,
  claimPeer,
  gates,
  LONG_IPV6,
  NOW_MS,
  sampleStatus,
  session,
} from './sample-status.ts';

const STYLE: Style = { color: false, width: 80, nowMs: NOW_MS };
const ESCAPE = '\u001b';

function explained(address: string, status = sampleStatus(), style = STYLE) {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(address);
  return renderExplain(status, parsed, style);
}

function widest(text: string): number {
  const bare = text.replaceAll(new RegExp(`${ESCAPE}\\[[0-9]+m`, 'g'), '');
  return Math.max(...bare.split('\n').map((line) => line.length));
}

describe('renderStatus', () => {
  it('shows the node, sessions, claims, refused documents and warnings', () => {
    expect(renderStatus(sampleStatus(), STYLE)).to.equal(`\
node      master-1, herald 0.1.0, pid 4711, up 3d04h
source    files:/etc/herald
joined    open for 3m12s: https://127.0.0.1:6443/readyz answered 200, at least 2
          times in a row

Sessions: 1 of 3 established
PEER              ADDRESS                     AS  STATE        SINCE  SENT  RECV
tor-a             192.0.2.1                64500  established  5h02m    12     0
tor-b-with-a-ve…  2001:db8:1111:2222:3333:4444:5555:6666
                                      4200000001  active          5s     0     0
    last error: the router sent Cease/Administrative Shutdown: maintenance until
    Monday, ask the network team
tor-c             [2001:db8::1]:1179    external  refused      5h02m    12     0
    not used: the password file '/etc/herald/key' cannot be read: no such file

Claims: 1 of 4 announced
ADDRESS    POOL           ROUTE         GATE
192.0.2.7  control-plane  up 2/2        -
192.0.2.8  control-plane  none          healthy
    https://127.0.0.1:8443/healthz answered 503: [-]etcd failed: reason withheld
192.0.2.9  control-plane  draining 1/2  not-draining
    drained by hand: disk change
2001:db8:1111:2222:3333:4444:5555:6666
           control-plane  waiting 1/1   no session with tor-a

Refused documents: 1
  claims.yaml:12: IPClaim/192.0.2.99: spec.bnd: there is no such field; did you
  mean 'bind'? (its last good form stays in force)

Warnings: 1
  net.ipv4.conf.all.arp_ignore is 0: this machine answers ARP for addresses on
  lo
`);
  });

  it('says what an empty agent lacks, and nothing about faults that are not there', () => {
    const empty = sampleStatus({ sessions: [], claims: [], faults: [], warnings: [] });
    const text = renderStatus(empty, STYLE);
    expect(text).to.include('Sessions: none. No BGPPeer document names a router for this node');
    expect(text).to.include('Claims: none. No IPClaim document is in force here');
    expect(text).to.not.match(/Refused|Warnings|draining|stale/);
  });

  it('says what holds the whole node once, not for each claim', () => {
    const shut = gates({
      joined: ['closed', 'https://127.0.0.1:6443/readyz refused the connection', 'start it'],
    });
    const [joined] = shut;
    if (joined === undefined) throw new Error('no gate');
    const claims = ['192.0.2.1', '192.0.2.2'].map((address) =>
      claim(address, { gates: shut, peers: [claimPeer({ route: 'none', gates: shut })] }),
    );
    const text = renderStatus(sampleStatus({ joined, claims }), STYLE);
    expect(text).to.include(
      'joined    closed for 5s: https://127.0.0.1:6443/readyz refused the connection',
    );
    expect(text).to.include('          → start it\n');
    expect(text.match(/refused the connection/g)).to.have.length(1);
    expect(text).to.match(/192\.0\.2\.2 +control-plane +none +joined\n/);
  });

  it('tells a draining and a stale node', () => {
    const text = renderStatus(
      sampleStatus({
        draining: { since: sampleStatus().joined.since, reason: 'disk change' },
        stale: {
          since: sampleStatus().joined.since,
          sentence: 'nothing heard from files:/etc/herald',
        },
      }),
      STYLE,
    );
    expect(text).to.include('\ndraining  for 3m12s: disk change\n');
    expect(text).to.include('\nstale     for 3m12s: nothing heard from files:/etc/herald\n');
  });

  it('cannot be steered by what a router says', () => {
    const evil = session({
      state: 'active',
      lastError: `Cease: ${ESCAPE}[2J${ESCAPE}]0;owned\u0007\nnode fake`,
    });
    const text = renderStatus(sampleStatus({ sessions: [evil] }), STYLE);
    expect(text).to.not.include(ESCAPE);
    expect(text).to.not.match(/^node fake/m);
  });

  it('has colour only when told, and then the same width', () => {
    expect(renderStatus(sampleStatus(), STYLE)).to.not.include(ESCAPE);
    const colored = renderStatus(sampleStatus(), { ...STYLE, color: true });
    expect(colored).to.include(`${ESCAPE}[32mestablished${ESCAPE}[0m`);
    expect(widest(colored)).to.be.at.most(80);
  });

  it('gives long addresses their column on a wide terminal', () => {
    const text = renderStatus(sampleStatus(), { ...STYLE, width: 130 });
    expect(text).to.match(new RegExp(`${LONG_IPV6} +4200000001 +active`));
  });
});

describe('renderRoutes', () => {
  it('has one row per address and peer', () => {
    expect(renderRoutes(sampleStatus(), STYLE)).to.equal(`\
PREFIX        PEER   STATE     NEXT HOP    ATTRIBUTES
192.0.2.7/32  tor-a  up        192.0.2.10  65000:1 no-export
192.0.2.7/32  tor-b  up        192.0.2.10  65000:1 no-export
192.0.2.8/32  tor-a  none      192.0.2.10  healthy: https://127.0.0.1:8443/heal…
192.0.2.9/32  tor-a  draining  192.0.2.10  65000:1 no-export
192.0.2.9/32  tor-b  waiting   192.0.2.10  there is no session with tor-b
2001:db8:1111:2222:3333:4444:5555:6666/128
              tor-a  waiting   192.0.2.10  the session with tor-a is established
`);
  });

  it('shows the attributes of a route', () => {
    const attributes = { nextHop: LONG_IPV6, communities: [], prepend: 3, med: 10, localPref: 200 };
    const status = sampleStatus({
      claims: [claim(LONG_IPV6, { peers: [claimPeer({ attributes })] })],
    });
    expect(renderRoutes(status, STYLE)).to.include('prepend=3 med=10 local-pref=200');
    expect(renderRoutes(status, STYLE)).to.include(LONG_IPV6);
    expect(listRoutes(status)).to.deep.equal([
      { prefix: `${LONG_IPV6}/128`, peer: 'tor-a', state: 'up', ...attributes },
    ]);
  });

  it('says that there are none', () => {
    expect(renderRoutes(sampleStatus({ claims: [] }), STYLE)).to.match(/^no routes: /);
  });
});

describe('renderExplain', () => {
  it('names every gate, and what to do about the closed one', () => {
    const { isClaimed, text } = explained('192.0.2.8');
    expect(isClaimed).to.equal(true);
    expect(text).to.equal(`\
192.0.2.8
  pool control-plane, written in claims.yaml:3, node master-1
  not announced: the gate 'healthy' is closed

to tor-a: no route
  session   192.0.2.1, AS 64500, established for 5h02m
  route     next hop 192.0.2.10, communities 65000:1 no-export
  joined        open      3m12s   https://127.0.0.1:6443/readyz answered 200, at
                                  least 2 times in a row
  assigned      open      3m12s   anycast: every node announces it
  healthy       closed    5s      https://127.0.0.1:8443/healthz answered 503:
                                  [-]etcd failed: reason withheld
                                  → look at the log of the server at
                                  127.0.0.1:8443
  bound         open      3m12s   it is on lo
  allowed       open      3m12s   pool 'control-plane' holds it
  not-draining  open      3m12s   nobody drains it
`);
  });

  it('says in one line how it stands', () => {
    const one = (peers: Parameters<typeof claim>[1]) =>
      explained('192.0.2.7', sampleStatus({ claims: [claim('192.0.2.7', peers)] })).text.split(
        '\n',
      )[2];
    expect(one({})).to.equal('  announced to 2 peers');
    expect(one({ peers: [claimPeer()] })).to.equal('  announced to 1 peer');
    expect(one({ peers: [] })).to.include('no BGPPeer of this node is there to announce it to');
    expect(
      one({ peers: [claimPeer(), claimPeer({ peer: 'tor-c', route: 'waiting' })] }),
    ).to.include('announced to 1 of 2 peers: the session with tor-c is idle: the password');
    expect(one({ peers: [claimPeer({ route: 'draining' })] })).to.include(
      'draining: still out to 1 peer, with GRACEFUL_SHUTDOWN',
    );
  });

  it('shows the gates also where there is no peer', () => {
    const { text } = explained(
      '192.0.2.7',
      sampleStatus({ claims: [claim('192.0.2.7', { peers: [] })] }),
    );
    expect(text.match(/ open {6}/g)).to.have.length(6);
  });

  it('says what to write for an address that nobody has claimed', () => {
    const { isClaimed, text } = explained('2001:db8::1');
    expect(isClaimed).to.equal(false);
    expect(text).to.include('2001:db8::1 is not claimed on master-1');
    expect(text).to.include('    name: 2001-0db8-0000-0000-0000-0000-0000-0001\n');
  });

  it('points at the document that was refused', () => {
    const { isClaimed, text } = explained('192.0.2.99');
    expect(isClaimed).to.equal(false);
    expect(text).to.include(
      'There is one, but it was refused:\n  claims.yaml:12: IPClaim/192.0.2.99',
    );
    expect(renderExplain(sampleStatus(), ipv4('192.0.2.98'), STYLE).text).to.not.include('refused');
  });
});

describe('the width', () => {
  const longText = fc.string({
    maxLength: 150,
    unit: fc.constantFrom('a', 'b', ' ', '-', '\n', ESCAPE),
  });
  const longWord = fc.string({ maxLength: 60, unit: fc.constantFrom('a', 'b', '-') });

  it('of 80 is kept whatever is told, but for an address that is longer', () => {
    fc.assert(
      fc.property(longText, longWord, longText, (sentence, name, error) => {
        const shut = gates({ healthy: ['closed', sentence, sentence] });
        const status = sampleStatus({
          joined: {
            name: 'joined',
            state: 'closed',
            sentence,
            remedy: error,
            since: sampleStatus().startedAt,
          },
          sessions: [
            session({ peer: name, lastError: error, refused: sentence, address: LONG_IPV6 }),
          ],
          claims: [
            claim(LONG_IPV6, {
              pool: name,
              origin: name,
              gates: shut,
              peers: [claimPeer({ gates: shut, route: 'none' })],
            }),
          ],
          warnings: [sentence],
          faults: [{ file: name, sentence: error, keepsLastGood: false }],
        });
        const texts = [
          renderStatus(status, STYLE),
          renderRoutes(status, STYLE),
          explained(LONG_IPV6, status).text,
        ];
        for (const text of texts) {
          expect(widest(text), text).to.be.at.most(80);
          expect(text).to.include(LONG_IPV6);
          expect(text).to.not.include(ESCAPE);
        }
      }),
    );
  });

  it('of a table is not exceeded by what spills, and the rest of the row stays in its columns', () => {
    const columns = [
      { title: 'A', most: 5, spills: true },
      { title: 'B', most: 4, alignRight: true },
      { title: 'C' },
    ];
    expect(
      formatTable(columns, [{ cells: ['abc', '1', 'x'] }, { cells: ['abcdefgh', '22', 'y'] }], {
        ...STYLE,
        width: 14,
      }),
    ).to.equal('A     B  C\nabc   1  x\nabcdefgh\n     22  y\n');
  });
});
