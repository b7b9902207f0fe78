import { expect } from 'chai';
import { EXCLUDE_LABEL } from '../../../src/model/names.ts';
import { plan } from '../../../src/plan/plan.ts';
import { changed, readChange } from '../../../src/plan/plan-documents.ts';
import { readPlanCluster } from '../../../src/plan/read-plan-cluster.ts';
import { renderPlan } from '../../../src/plan/render-plan.ts';
import { ADDRESS, Scenery, STYLE } from '../cluster-view/scenery.ts';

async function shop(): Promise<Scenery> {
  const scene = new Scenery();
  await scene.pool();
  await scene.peers();
  await scene.claim();
  await scene.node('node-a', {}, { rack: '1' });
  await scene.node('node-b', {}, { rack: '2' });
  return scene;
}

async function planned(scene: Scenery, text: string, remove: readonly string[] = []) {
  const { documents, nodes } = await readPlanCluster(scene.api);
  const change = readChange(text, 'api');
  if (!change.ok) throw new Error(change.sentences.join('; '));
  const made = plan(documents, changed(documents, { put: change.put, remove }, 'api'), nodes);
  const words = made.nodes.map(({ node, sessions, routes }) => [
    node,
    ...sessions.map(({ what, peer }) => `${what} ${peer}`),
    ...routes.map(({ what, prefix, peer }) => `${what} ${prefix} ${peer}`),
  ]);
  return { made, words, text: renderPlan(made, STYLE) };
}

const document = (kind: string, name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });
const peer = (name: string, spec: object = {}) =>
  document('BGPPeer', name, {
    address: name === 'tor-a' ? '192.0.2.1' : '192.0.2.2',
    asn: 64500,
    ...spec,
  });

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ');

describe('herald plan', () => {
  it('finds nothing where nothing changes', async () => {
    const { words } = await planned(await shop(), peer('tor-a'));
    expect(words).to.deep.equal([['node-a'], ['node-b']]);
  });

  it('tells a new router from one that is taken from some nodes', async () => {
    const fresh = document('BGPPeer', 'tor-c', { address: '192.0.2.3', asn: 64500 });
    expect((await planned(await shop(), fresh)).words).to.deep.equal([
      ['node-a', 'open tor-c', `announce ${ADDRESS}/32 tor-c`],
      ['node-b', 'open tor-c', `announce ${ADDRESS}/32 tor-c`],
    ]);
    const narrow = peer('tor-b', { nodeSelector: { matchLabels: { rack: '1' } } });
    const { words, text } = await planned(await shop(), narrow);
    expect(text).to.include('BGPPeer tor-b is not for this node any more');
    expect(words).to.deep.equal([
      ['node-a'],
      ['node-b', 'close tor-b', `withdraw ${ADDRESS}/32 tor-b`],
    ]);
  });

  it('tells of a session that has to start anew, also with a Secret', async () => {
    const { words } = await planned(await shop(), peer('tor-a', { password: { secret: 'key' } }));
    expect(words[0]).to.deep.equal(['node-a', 'restart tor-a']);
  });

  it('tells of routes that look otherwise, and that a pool which shrinks or goes leaves addresses of Services behind', async () => {
    const tagged = {
      addresses: ['198.51.100.0/24'],
      advertisements: [{ communities: ['no-export'] }],
    };
    const changedRoutes = await planned(await shop(), document('IPPool', 'public', tagged));
    expect(changedRoutes.words[0]).to.deep.equal([
      'node-a',
      `change ${ADDRESS}/32 tor-a`,
      `change ${ADDRESS}/32 tor-b`,
    ]);
    const small = document('IPPool', 'public', { addresses: ['198.51.100.128/25'] });
    const left = 'IPPool public leaves 1 address of Services behind';
    const shrunk = await planned(await shop(), small);
    expect(shrunk.words.flat()).to.deep.equal(['node-a', 'node-b']);
    expect(oneLine(shrunk.text)).to.include(left);
    const gone = await planned(await shop(), '', ['IPPool/public']);
    expect(gone.words.flat()).to.deep.equal(['node-a', 'node-b']);
    expect(oneLine(gone.text)).to.include(left);
  });

  it('tells of what a smaller pool withdraws from a claim by hand, and why', async () => {
    const scene = new Scenery();
    await scene.pool();
    await scene.peers();
    await scene.claim({ services: [] });
    await scene.node('node-a');
    const small = document('IPPool', 'public', { addresses: ['198.51.100.128/25'] });
    const { words, text } = await planned(scene, small);
    expect(words[0]).to.deep.equal([
      'node-a',
      `withdraw ${ADDRESS}/32 tor-a`,
      `withdraw ${ADDRESS}/32 tor-b`,
    ]);
    expect(text).to.include(`${ADDRESS} is not in pool public`);
  });

  it('knows what --delete takes away, and a claim that a person adds', async () => {
    const { words } = await planned(await shop(), '', [`IPClaim/${ADDRESS}`, 'BGPPeer/tor-b']);
    expect(words[0]).to.deep.equal([
      'node-a',
      'close tor-b',
      `withdraw ${ADDRESS}/32 tor-a`,
      `withdraw ${ADDRESS}/32 tor-b`,
    ]);
    const added = await planned(await shop(), document('IPClaim', '198.51.100.50', {}));
    expect(added.words[0]).to.include('announce 198.51.100.50/32 tor-a');
  });

  it('leaves what an agent refuses as it is, and nodes that have not joined', async () => {
    const scene = new Scenery();
    await scene.pool();
    await scene.peers();
    await scene.claim();
    const refused = [{ address: ADDRESS, gate: 'healthy', message: 'no endpoint here' }];
    await scene.node('node-a', { refused });
    await scene.node('node-b', { joined: { open: false, reason: 'x', message: 'y', since: '' } });
    const fresh = document('BGPPeer', 'tor-c', { address: '192.0.2.3', asn: 64500 });
    expect((await planned(scene, fresh)).words).to.deep.equal([
      ['node-a', 'open tor-c'],
      ['node-b', 'open tor-c'],
    ]);
  });

  it('obeys the exclude label but on a node that is the only one there is', async () => {
    const scene = new Scenery();
    await scene.pool();
    await scene.peers();
    await scene.claim();
    await scene.node('node-a', {}, { [EXCLUDE_LABEL]: '' });
    await scene.node('node-b', { ignoresExcludeLabel: true }, { [EXCLUDE_LABEL]: '' });
    const fresh = document('BGPPeer', 'tor-c', { address: '192.0.2.3', asn: 64500 });
    expect((await planned(scene, fresh)).words).to.deep.equal([
      ['node-a', 'open tor-c'],
      ['node-b', 'open tor-c', `announce ${ADDRESS}/32 tor-c`],
    ]);
  });

  it('says what is the affair of the controller', async () => {
    const spec = { addresses: ['198.51.100.0/24'], placement: { mode: 'exclusive' } };
    const { made } = await planned(await shop(), document('IPPool', 'public', spec));
    expect(made.notes.join()).to.include(
      'IPPool public becomes exclusive: the controller will place its 1 claims anew',
    );
  });

  it('refuses a change that the API server would refuse', () => {
    const change = readChange(document('IPPool', 'p', { addresses: ['nonsense'] }), 'api');
    expect(change.ok ? '' : change.sentences.join()).to.include('IPPool/p');
  });
});
