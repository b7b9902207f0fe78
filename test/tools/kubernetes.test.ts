/** The parts of the Kubernetes build that can be wrong without a build: the scratch module, Go's versions, the toolchain's archive and hash. */

import { deflateRawSync } from 'node:zlib';
import { expect } from 'chai';
import { goMod } from '../../tools/kubernetes/assets.ts';
import { hashOfModule, isNewEnough } from '../../tools/kubernetes/go.ts';
import { readZip } from '../../tools/kubernetes/zip.ts';

describe('the Kubernetes build', () => {
  it('replaces exactly the libraries at v0.0.0 by their published version', () => {
    const text = goMod(
      'module k8s.io/kubernetes\n\ngo 1.24.0\n\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/klog/v2 v2.130.1\n\tk8s.io/client-go v0.0.0 // indirect\n\tk8s.io/utils v0.0.0-20250604170112-4c0f3b243397\n)\n',
    );
    expect(text.split('\n')).to.deep.equal([
      'module herald.dev/kubernetes-build',
      'go 1.24.0',
      'require k8s.io/kubernetes v1.34.4',
      'replace k8s.io/api => k8s.io/api v0.34.4',
      'replace k8s.io/client-go => k8s.io/client-go v0.34.4',
      '',
    ]);
  });

  it('says so when the layout of Kubernetes has changed', () => {
    expect(() => goMod('module k8s.io/kubernetes\n')).to.throw('no libraries at v0.0.0');
  });

  it('takes Go 1.24 and newer', () => {
    const verdicts = ['go1.19.8', 'go1.23.12', 'go1.24', 'go1.24rc1', 'go1.26.8', 'go2.0'].map(
      isNewEnough,
    );
    expect(verdicts).to.deep.equal([false, false, true, true, true, true]);
  });

  it('reads stored and deflated entries of an archive, and refuses half of one', () => {
    const archive = zip([
      { name: 'm@v1/a.txt', content: 'stored', isDeflated: false },
      { name: 'm@v1/b/c.txt', content: 'deflated '.repeat(50), isDeflated: true },
    ]);
    const files = [...readZip(archive)].map(([name, content]) => [
      name,
      new TextDecoder().decode(content),
    ]);
    expect(files).to.deep.equal([
      ['m@v1/a.txt', 'stored'],
      ['m@v1/b/c.txt', 'deflated '.repeat(50)],
    ]);
    expect(() => readZip(archive.subarray(0, -10))).to.throw('no end record');
  });

  it('hashes a module as go.sum does', () => {
    // By sha256sum, sort and openssl.
    const files = new Map([
      ['m@v1/b', new TextEncoder().encode('b\n')],
      ['m@v1/a', new TextEncoder().encode('a\n')],
    ]);
    expect(hashOfModule(files)).to.equal('h1:MWSSXcbrBPE25cl41I8+R7Y9hAxuY9Be76nDJvg0pks=');
  });
});

interface Entry {
  readonly name: string;
  readonly content: string;
  readonly isDeflated: boolean;
}

function zip(entries: readonly Entry[]): Uint8Array {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, content, isDeflated } of entries) {
    const raw = Buffer.from(content);
    const packed = isDeflated ? deflateRawSync(raw) : raw;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(isDeflated ? 8 : 0, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(name), packed);
    central.push(entry, Buffer.from(name));
    offset += local.length + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...central, end]);
}
