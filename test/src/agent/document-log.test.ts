/** What the log says of refused documents, and how much of it. */

import { expect } from 'chai';
import { logDocuments } from '../../../src/agent/document-log.ts';
import { type Log, type LogFields, SILENT_LOG } from '../../../src/log/log.ts';
import type { DocumentFault } from '../../../src/model/documents.ts';

describe('the log of documents', () => {
  const faults = Array.from(
    { length: 5000 },
    (_, index): DocumentFault => ({
      file: 'a.yaml',
      line: index,
      sentence: 'bad',
      keepsLastGood: false,
    }),
  );

  function told(documents: readonly DocumentFault[], known: readonly DocumentFault[]): LogFields[] {
    const lines: LogFields[] = [];
    const log: Log = { ...SILENT_LOG, warn: (_event, fields) => lines.push(fields) };
    logDocuments(log, { peers: [], pools: [], claims: [], faults: documents }, { known });
    return lines;
  }

  it('tells a refused document once', () => {
    const [first, second] = faults;
    if (first === undefined || second === undefined) throw new Error('no faults');
    const lines = told([first, second], [first]);
    expect(lines.map(({ line }) => line)).to.deep.equal([1]);
  });

  it('tells the first hundred of thousands, and how many more there are', () => {
    const lines = told(faults, []);
    expect(lines).to.have.length(101);
    expect(lines.at(-1)).to.deep.equal({ count: 4900 });
  });
});
