/** What an agent makes of a saved View before its API has answered: of another cluster, or of one that is not known yet (DEFECTS C20). */

import { expect } from 'chai';
import { Knowledge } from '../../../src/agent/knowledge.ts';
import { PasswordFiles } from '../../../src/agent/password-files.ts';
import { SAVED_VERSION, type SavedView } from '../../../src/agent/saved-view.ts';
import type { ClusterIdentity } from '../../../src/model/cluster-identity.ts';
import type { DocumentSource } from '../../../src/model/refusal.ts';
import { claim, NODE, peer, pool, sourced } from './scenery.ts';

const AT = { nowMs: 1_000_000, wallMs: 2_000_000 };
const OF_FILE = '198.51.100.8';
const OF_API = '198.51.100.7';
const api = { source: 'api' } as const;

const SAVED: SavedView = {
  version: SAVED_VERSION,
  savedAtMs: 1_999_000,
  routerId: 7,
  documents: {
    peers: [sourced(peer())],
    pools: [sourced(pool()), { ...sourced(pool({ name: 'other' })), ...api }],
    claims: [sourced(claim({ at: OF_FILE })), { ...sourced(claim({ at: OF_API })), ...api }],
  },
  cluster: {
    node: {
      name: NODE,
      uid: 'u',
      labels: { rack: 'a' },
      taints: [],
      isUnschedulable: false,
      isBeingDeleted: false,
      ready: 'true',
      addresses: [],
    },
  },
  clusterMarks: ['ca:1'],
  claimDrains: [],
};

function knowledgeOf(
  clusterIdentity: () => ClusterIdentity | undefined,
  sources: readonly DocumentSource[] = ['files', 'api'],
): Knowledge {
  return new Knowledge({
    node: { name: NODE, labels: {}, routerId: 7 },
    joinCheck: { target: undefined } as never,
    passwords: new PasswordFiles(() => ''),
    saved: SAVED,
    source: 'the API',
    maxStaleMs: 86_400_000,
    sources,
    cluster: { nodeName: NODE, ignoresExcludeLabel: false },
    clusterIdentity,
  });
}

const claimsOf = ({ documents }: Knowledge) => documents?.claims.map(({ object }) => object.name);

describe('a View that was saved in a cluster', () => {
  it('is taken up where the way to the API leads to the same cluster', () => {
    const knowledge = knowledgeOf(() => ({ marks: ['ca:1'] }));
    knowledge.restore(AT);
    expect(claimsOf(knowledge)).to.deep.equal([OF_FILE, OF_API]);
    expect(knowledge.node.labels).to.deep.include({ rack: 'a' });
    expect(knowledge.foreign).to.equal(undefined);
  });

  it('leaves its files where that is another cluster, and nothing of the API: no claim, no label, no last good form', () => {
    const knowledge = knowledgeOf(() => ({ marks: ['ca:2'] }));
    knowledge.restore(AT);
    expect(claimsOf(knowledge)).to.deep.equal([OF_FILE]);
    expect(knowledge.node.labels).to.deep.equal({});
    expect(knowledge.foreign).to.include('they are of another cluster');
    const fault = {
      file: 'API',
      subject: `IPClaim/${OF_API}`,
      sentence: 'bad',
      keepsLastGood: false,
    };
    const heard = { peers: [], pools: [], claims: [], faults: [fault] };
    knowledge.learn('api', heard, { claims: [], bindings: new Map() } as never, AT);
    expect(claimsOf(knowledge)).to.deep.equal([OF_FILE]);
    expect(knowledge.foreign).to.equal(undefined);
  });

  it('has no desired state at all where files are no source', () => {
    const knowledge = knowledgeOf(() => ({ marks: ['ca:2'] }), ['api']);
    knowledge.restore(AT);
    expect(knowledge.documents).to.equal(undefined);
    expect(knowledge.toSave(AT.wallMs), 'the file stays as it is').to.equal(undefined);
  });

  it('waits while the way to the API is not known, stays on disk, and is taken up then', () => {
    let identity: ClusterIdentity | undefined;
    const knowledge = knowledgeOf(() => identity);
    knowledge.restore(AT);
    expect(claimsOf(knowledge)).to.deep.equal([OF_FILE]);
    const kept = knowledge.toSave(AT.wallMs);
    expect(kept?.documents.claims).to.deep.equal(SAVED.documents.claims);
    expect(kept).to.deep.include({ clusterMarks: ['ca:1'], cluster: SAVED.cluster });
    identity = { marks: ['ca:1', 'ca:3'] };
    knowledge.restoreCluster(AT);
    expect(claimsOf(knowledge)).to.deep.equal([OF_FILE, OF_API]);
    expect(knowledge.toSave(AT.wallMs)?.clusterMarks).to.deep.equal(['ca:1', 'ca:3']);
  });
});
