import { expect } from 'chai';
import type { Documents, Sourced } from '../../../src/model/documents.ts';
import { mergeDocuments } from '../../../src/sources/merge.ts';
import { address, claim, peer, pool } from '../agent/scenery.ts';

function api<T>(object: T): Sourced<T> {
  return { object, origin: 'API', createdMs: 0, source: 'api' };
}

function file<T>(object: T): Sourced<T> {
  return { object, origin: 'a.yaml:1', createdMs: 0 };
}

function documents(over: Partial<Documents>): Documents {
  return { peers: [], pools: [], claims: [], faults: [], ...over };
}

const origins = (list: readonly Sourced<unknown>[]) => list.map(({ origin }) => origin);

describe('documents of files and of the API', () => {
  it('are those of whoever has spoken', () => {
    const files = documents({ claims: [file(claim())] });
    expect(mergeDocuments(files, undefined)).to.equal(files);
    expect(mergeDocuments(undefined, files)).to.equal(files);
    expect(mergeDocuments(undefined, undefined).claims).to.deep.equal([]);
  });

  it('are the file’s where both have one of the same kind and name', () => {
    const other = claim({ at: '198.51.100.8' });
    const merged = mergeDocuments(
      documents({ claims: [file(claim())], pools: [file(pool())] }),
      documents({ claims: [api(claim()), api(other)], pools: [api(pool())] }),
    );
    expect(origins(merged.claims)).to.deep.equal(['a.yaml:1', 'API']);
    expect(merged.claims[1]?.object).to.equal(other);
    expect(origins(merged.pools)).to.deep.equal(['a.yaml:1']);
  });

  it('are the file’s where both have a peer that is the same session, whatever its name', () => {
    const merged = (over: Parameters<typeof peer>[0]) =>
      origins(
        mergeDocuments(
          documents({ peers: [file(peer({ name: 'tor' }))] }),
          documents({ peers: [api(peer({ name: 'router', ...over }))] }),
        ).peers,
      );
    expect(merged({})).to.deep.equal(['a.yaml:1']);
    expect(merged({ maxRoutes: 7 })).to.deep.equal(['a.yaml:1']);
    expect(merged({ port: 1790 })).to.deep.equal(['a.yaml:1', 'API']);
    expect(merged({ sourceAddress: address('192.0.2.9') })).to.deep.equal(['a.yaml:1', 'API']);
    expect(merged({ name: 'tor', port: 1790 })).to.deep.equal(['a.yaml:1']);
  });

  it('are the very list of the API where files have none: what was worked out from it counts on', () => {
    const claims = [api(claim())];
    const merged = mergeDocuments(documents({ pools: [file(pool())] }), documents({ claims }));
    expect(merged.claims).to.equal(claims);
  });

  it('have the faults of both', () => {
    const fault = (name: string) => ({ file: name, sentence: 'x', keepsLastGood: false });
    const merged = mergeDocuments(
      documents({ faults: [fault('a')] }),
      documents({ faults: [fault('b')] }),
    );
    expect(merged.faults.map(({ file: name }) => name)).to.deep.equal(['a', 'b']);
  });
});
