/**
 * What an agent makes of a View whose claims of the API were given back when its agent was stopped:
 * others may have the addresses by now.
 */

import { expect } from 'chai';
import { Knowledge } from '../../../src/agent/knowledge.ts';
import { PasswordFiles } from '../../../src/agent/password-files.ts';
import {
  formatSavedView,
  parseSavedView,
  SAVED_VERSION,
  type SavedView,
} from '../../../src/agent/saved-view.ts';
import type { Documents } from '../../../src/model/documents.ts';
import { claim, documents, NODE, peer, pool, sourced } from './scenery.ts';

const AT = { nowMs: 1_000_000, wallMs: 2_000_000 };
const OF_FILE = '198.51.100.8';
const OF_API = '198.51.100.7';
const api = { source: 'api' } as const;
const NOTHING = {
  ...{ plans: [], peers: [], ranges: [], claims: [], bindings: new Map(), discards: new Map() },
};

const SAVED: SavedView = {
  version: SAVED_VERSION,
  savedAtMs: 1_999_000,
  routerId: 7,
  isGivenBack: true,
  documents: {
    peers: [{ ...sourced(peer()), ...api }],
    pools: [{ ...sourced(pool()), ...api }],
    claims: [sourced(claim({ at: OF_FILE })), { ...sourced(claim({ at: OF_API })), ...api }],
    formerPools: [{ ...sourced(pool({ name: 'gone' })), ...api }],
  },
  cluster: {
    node: {
      name: NODE,
      uid: 'u',
      labels: { rack: 'a' },
      taints: [],
      isUnschedulable: false,
      isBeingDeleted: false,
      ready: 'unknown',
      addresses: [],
      bootId: 'b',
    },
    readyBoot: 'b',
  },
  clusterMarks: ['ca:1'],
  claimDrains: [],
};

function restored(saved: SavedView): Knowledge {
  const parsed = parseSavedView(formatSavedView(saved));
  if (!parsed.ok) throw new Error(parsed.sentence);
  const knowledge = new Knowledge({
    node: { name: NODE, labels: {}, routerId: 7 },
    joinCheck: { target: undefined } as never,
    passwords: new PasswordFiles(() => ''),
    saved: parsed.saved,
    source: 'the API',
    maxStaleMs: 86_400_000,
    sources: ['files', 'api'],
    cluster: { nodeName: NODE, bootId: 'b', ignoresExcludeLabel: false },
    clusterIdentity: () => ({ marks: ['ca:1'] }),
  });
  knowledge.restore(AT);
  return knowledge;
}

function fromApi(over: Partial<Documents>): Documents {
  const plain = documents({ claims: [] });
  return { ...plain, pools: plain.pools.map((one) => ({ ...one, ...api })), ...over };
}

const claimsOf = ({ documents }: Knowledge) => documents?.claims.map(({ object }) => object.name);

describe('a View whose claims were given back', () => {
  it('announces those of files, and those of the API when that has spoken', () => {
    const knowledge = restored(SAVED);
    expect(claimsOf(knowledge)).to.deep.equal([OF_FILE]);
    expect(knowledge.view(AT.nowMs).staleApi?.sentence).to.include('gave its claims of the API');
    const claims = [{ ...sourced(claim({ at: OF_API })), ...api }];
    knowledge.learn('api', fromApi({ claims }), NOTHING, AT);
    expect(claimsOf(knowledge)).to.include(OF_API);
    expect(knowledge.toSave(AT.wallMs)).to.not.have.property('isGivenBack');
  });

  it('has the rest of the API: the Node has been Ready in this boot, and sessions may come up', () => {
    const knowledge = restored(SAVED);
    expect(knowledge.clusterJoined).to.deep.equal({ isOpen: true, inThisBoot: true });
    expect(knowledge.documents?.peers).to.have.length(1);
  });

  it('stays as it is on disk until then, whatever files and people say', () => {
    const knowledge = restored(SAVED);
    knowledge.learn('files', documents({ peers: [], pools: [], claims: [] }), NOTHING, AT);
    expect(knowledge.toSave(AT.wallMs)).to.deep.equal({
      ...SAVED,
      heardAtMs: { files: AT.wallMs, api: SAVED.savedAtMs },
      documents: {
        ...SAVED.documents,
        claims: SAVED.documents.claims.filter(({ source }) => source === 'api'),
      },
    });
  });

  it('still has the last good form of a claim that the API has and that cannot be read', () => {
    const knowledge = restored(SAVED);
    const fault = {
      file: 'API',
      subject: `IPClaim/${OF_API}`,
      sentence: 'bad',
      keepsLastGood: true,
    };
    knowledge.learn('api', fromApi({ faults: [fault] }), NOTHING, AT);
    expect(claimsOf(knowledge)).to.include(OF_API);
  });

  it('is used as a whole where nothing was given back', () => {
    const { isGivenBack: _, ...kept } = SAVED;
    expect(claimsOf(restored(kept))).to.deep.equal([OF_FILE, OF_API]);
  });
});
