/** The examples can all be applied to one cluster: their pools hold different addresses, their peers are different sessions. */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkPeers, checkPools } from '../../src/model/check-documents.ts';
import { type GoodDocument, readPiece } from '../../src/sources/files/read-document.ts';
import { splitDocuments } from '../../src/sources/files/split-documents.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const FILES = globSync(['examples/*.yaml', 'overlays/*/pool.yaml'], { cwd: DEPLOY }).toSorted();

const ours = (text: string) => text.includes('apiVersion: herald.dev/');
/** in a cluster, not in files */
const forFiles = (text: string) => text.replace(/password: \{secret: .*\}/, '');

const documents: readonly GoodDocument[] = FILES.flatMap((file) =>
  splitDocuments(readFileSync(join(DEPLOY, file), 'utf8'))
    .map(({ text }) => text)
    .filter(ours)
    .flatMap((text) => readPiece(forFiles(text)))
    .map((result) => {
      if (!result.ok) throw new Error(`${file}: ${result.sentence}`);
      return result;
    }),
);

describe('deploy/examples', () => {
  const candidate = <T>(object: T) => ({ object, createdMs: 0, isStanding: false });

  it('have pools that share no address', () => {
    const pools = documents.flatMap(({ content }) =>
      content.kind === 'IPPool' ? [candidate(content.object)] : [],
    );
    expect(pools.length).to.be.above(8);
    expect(checkPools(pools)).to.deep.equal([]);
  });

  it('have peers that are different sessions', () => {
    const peers = documents.flatMap(({ content }) =>
      content.kind === 'BGPPeer' ? [candidate(content.object)] : [],
    );
    expect(peers.length).to.be.above(2);
    expect(checkPeers(peers)).to.deep.equal([]);
  });
});
