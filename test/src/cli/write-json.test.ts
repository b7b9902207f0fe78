import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import fc from 'fast-check';
import { writeJson } from '../../../src/cli/output.ts';
import { sampleStatus } from '../control/sample-status.ts';

async function written(value: unknown): Promise<string> {
  const stream = new PassThrough();
  const read = text(stream);
  await writeJson(stream, value);
  stream.end();
  return await read;
}

describe('writeJson', () => {
  it('writes what JSON.stringify with an indent of 2 would, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
        expect(await written(value)).to.equal(`${JSON.stringify(value, undefined, 2)}\n`);
      }),
    );
  });

  it('leaves out what is undefined', async () => {
    const value = { ...sampleStatus(), stale: undefined };
    expect(await written(value)).to.equal(`${JSON.stringify(value, undefined, 2)}\n`);
  });

  it('waits for a reader that is slow, with a piece in memory', async () => {
    const stream = new PassThrough({ highWaterMark: 1024 });
    const done = writeJson(
      stream,
      Array.from({ length: 10_000 }, () => 'x'.repeat(100)),
    );
    await new Promise(setImmediate);
    expect(stream.writableLength + stream.readableLength).to.be.below(200_000);
    stream.resume();
    await done;
  });
});
