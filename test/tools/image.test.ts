/** What the image must know of programs, processors and names; no image is built. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { architectures, parseArchitecture } from '../../tools/image/architecture.ts';
import { parseElf } from '../../tools/image/elf.ts';
import { type Library, librariesOf } from '../../tools/image/libraries.ts';
import { archiveFile } from '../../tools/image/names.ts';

const ours = parseArchitecture(process.arch);
const node: Library = {
  path: '/node',
  from: '/node',
  bytes: readFileSync(process.execPath),
};

describe('an ELF file', () => {
  it('tells its processor, its loader and the libraries that it names', () => {
    const elf = parseElf(node.bytes);
    expect(elf?.machine).to.equal(architectures[ours].machine);
    expect(elf?.interpreter).to.equal(architectures[ours].loader);
    expect(elf?.needed).to.include.members(['libc.so.6', 'libstdc++.so.6', 'libatomic.so.1']);
  });

  it('is told from a text, however long', () => {
    expect(parseElf(new Uint8Array())).to.equal(undefined);
    expect(parseElf(new TextEncoder().encode('#!/bin/sh\n'.repeat(20)))).to.equal(undefined);
  });

  it('of 32 bit is refused', () => {
    const bytes = Uint8Array.from(node.bytes.subarray(0, 64));
    bytes[4] = 1;
    expect(() => parseElf(bytes)).to.throw('64 bit');
  });
});

describe('the libraries of a program', () => {
  /** a program that needs nothing: no segments at all */
  const plain = (path: string): Library => {
    const bytes = Uint8Array.from(node.bytes.subarray(0, 64));
    new DataView(bytes.buffer).setUint16(56, 0, true);
    return { path, from: path, bytes };
  };

  it('are each taken once, with the loader', () => {
    const found = librariesOf([node, node], ours, (name) => plain(`/lib/${name}`));
    const paths = found.map(({ path }) => path);
    expect(paths).to.deep.equal([...new Set(paths)].toSorted((a, b) => a.localeCompare(b)));
    expect(paths).to.include.members(['/lib/libc.so.6', `/lib/${architectures[ours].loader}`]);
  });

  it('that are missing are an error that says who needs which', () => {
    expect(() => librariesOf([node], ours, () => undefined)).to.throw(
      /^\/node needs lib\S+, which is not to be found\.$/,
    );
  });

  it('of another processor are an error', () => {
    const other = ours === 'x64' ? 'arm64' : 'x64';
    expect(() => librariesOf([node], other, () => undefined)).to.throw(
      `/node is for another processor than ${other}.`,
    );
  });

  it('of a script are not asked for', () => {
    const script = { ...node, bytes: new TextEncoder().encode('#!/bin/sh\n') };
    expect(() => librariesOf([script], ours, () => undefined)).to.throw('neither a program');
  });
});

describe('names', () => {
  it('of processors are those of Node, Debian and Docker', () => {
    expect(['x64', 'amd64', 'linux/amd64'].map(parseArchitecture)).to.deep.equal(
      Array(3).fill('x64'),
    );
    expect(['arm64', 'linux/arm64'].map(parseArchitecture)).to.deep.equal(Array(2).fill('arm64'));
    expect(() => parseArchitecture('vax')).to.throw('there is no image for the processor vax');
  });

  it('of images become those of files', () => {
    expect(archiveFile('registry.example:5000/herald:1.0', 'arm64')).to.match(
      /\/herald\/images\/registry\.example_5000_herald_1\.0_arm64\.tar$/,
    );
  });
});
