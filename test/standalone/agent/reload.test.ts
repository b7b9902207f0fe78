/** Documents that change under a running agent: nothing else is disturbed, and what is refused is refused with a place and a reason. */

import { rmSync } from 'node:fs';
import { expect } from 'chai';
import type { AgentStatus } from '../../../src/agent/status.ts';
import { startCapture } from '../../support/capture.ts';
import { documentText } from '../../support/document.ts';
import { untilValue } from '../../support/poll.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AgentLab, claim, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';
const OTHER = '198.51.100.11';

describe('standalone: documents that change', function () {
  this.timeout(180_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('reload');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  async function running(): Promise<void> {
    lab.write({ 'base.yaml': [peer(), pool()], 'vip.yaml': [claim(VIP)] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
  }

  const faults = (wanted: RegExp) =>
    untilValue(
      `a fault that says ${wanted}`,
      async () => (await lab.status()).faults,
      (all) => all.some(({ sentence }) => wanted.test(sentence)),
    );

  it('claims come and go, pools change their attributes: one session throughout, and only the changes on the wire', async () => {
    await running();
    const capture = await startCapture(lab.routerHost, lab.routerDevice);
    lab.write({ 'other.yaml': [claim(OTHER)] });
    await lab.announces([VIP, OTHER]);
    lab.remove('other.yaml');
    await lab.announces([VIP]);
    lab.write({ 'base.yaml': [peer(), pool({ advertisements: [{ communities: ['64512:77'] }] })] });
    await untilValue(
      'the community',
      () => lab.routes(),
      ([route]) => route?.communities.includes('64512:77') === true,
    );
    const opens = await capture.frames('bgp.type == 1 || bgp.type == 3', ['bgp.type']);
    const updates = await capture.frames('bgp.type == 2', ['frame.number']);
    await capture.stop();
    expect(opens).to.have.length(0);
    expect(updates).to.have.length(3);
  });

  it('a document that turns bad is refused with file, line and reason; its last good form and the others stay', async () => {
    await running();
    lab.write({ 'other.yaml': [claim(OTHER)] });
    await lab.announces([VIP, OTHER]);
    const bad = [claim('198.51.100.12'), claim(OTHER, { bind: { interfac: 'lo' } })];
    lab.write({ 'other.yaml': bad });
    const all = await faults(/interfac/);
    expect(all).to.have.length(1);
    expect(all[0]?.file).to.match(/other\.yaml$/);
    expect(all[0]?.line).to.equal(3);
    expect(all[0]?.subject).to.equal(`IPClaim/${OTHER}`);
    expect(all[0]?.keepsLastGood).to.equal(true);
    await lab.announces([VIP, OTHER, '198.51.100.12']);
  });

  it('a file that is no YAML any more keeps what it said before', async () => {
    await running();
    lab.write({ 'vip.yaml': ['kind: IPClaim\n  metadata: [oops'] });
    await faults(/YAML|parse|indent/i);
    await lab.announces([VIP]);
  });

  it('the directory vanishes: nothing is withdrawn; it comes back: what is in it counts', async () => {
    await running();
    rmSync(lab.documents, { recursive: true });
    await faults(/director/);
    await lab.announces([VIP]);
    lab.write({ 'base.yaml': [peer(), pool()], 'other.yaml': [claim(OTHER)] });
    await lab.announces([OTHER]);
  });

  it('a removed claim drains for the wait of its pool: GRACEFUL_SHUTDOWN first, then the withdrawal', async () => {
    lab.write({
      'base.yaml': [peer(), pool({ drain: { waitSeconds: 3 } })],
      'vip.yaml': [claim(VIP)],
    });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    lab.remove('vip.yaml');
    await untilValue(
      'the community',
      () => lab.routes(),
      ([route]) => route?.communities.includes('65535:0') === true,
    );
    await lab.announces([]);
  });

  it('a new peer that does not answer and one that is removed leave the others alone', async () => {
    await running();
    const before = await lab.upSince();
    const silent = documentText('BGPPeer', 'silent', {
      address: '10.50.0.77',
      asn: 64999,
      localASN: 64512,
    });
    lab.write({ 'silent.yaml': [silent] });
    const has = ({ sessions }: AgentStatus) => sessions.some((each) => each.peer === 'silent');
    await untilValue('the peer', () => lab.status(), has);
    lab.remove('silent.yaml');
    await untilValue(
      'the peer is gone',
      () => lab.status(),
      (status) => !has(status),
    );
    expect(await lab.upSince()).to.be.closeTo(before, SAME_SESSION_MS);
    await lab.announces([VIP]);
  });

  it('maxRoutes: the newest claims are refused, the session and the older ones stay', async () => {
    lab.write({
      'base.yaml': [peer({ maxRoutes: 2 }), pool()],
      'a.yaml': [claim(VIP), claim(OTHER)],
    });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP, OTHER]);
    const before = await lab.upSince();
    lab.write({ 'b.yaml': [claim('198.51.100.1'), claim('198.51.100.2')] });
    const refused = ({ claims }: AgentStatus) =>
      claims.filter(({ peers }) =>
        peers.some(({ gates }) => gates.some(({ sentence }) => /maxRoutes/.test(sentence))),
      );
    await untilValue(
      'two refused',
      () => lab.status(),
      (status) => refused(status).length === 2,
    );
    await lab.announces([VIP, OTHER]);
    lab.remove('a.yaml');
    await lab.announces(['198.51.100.1', '198.51.100.2']);
    expect(await lab.upSince()).to.be.closeTo(before, SAME_SESSION_MS);
  });
});
