/** The corpus: what other balancers' objects become, word for word; HERALD_WRITE_FIXTURES writes anew what is then read and reviewed. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { accepted } from '../../../src/import/accepted.ts';
import { importExternalIpController } from '../../../src/import/external-ip-controller.ts';
import { parseObjects } from '../../../src/import/foreign-objects.ts';
import type { Destination, Imported } from '../../../src/import/imported.ts';
import { importKubeVip } from '../../../src/import/kube-vip.ts';
import { importMetallb } from '../../../src/import/metallb.ts';
import { printImported } from '../../../src/import/print.ts';
import { readPiece } from '../../../src/sources/files/read-document.ts';
import { splitDocuments } from '../../../src/sources/files/split-documents.ts';

const FOLDER = join(import.meta.dirname, 'fixtures');
const INPUTS = readdirSync(FOLDER).filter((name) => !name.endsWith('.expected.yaml'));

function converted(name: string, destination: Destination): { made: Imported; from: string } {
  const read = parseObjects(readFileSync(join(FOLDER, name), 'utf8'));
  if (!read.ok) throw new Error(read.sentence);
  if (name.startsWith('metallb')) {
    return { made: importMetallb(read.objects, destination), from: 'metallb' };
  }
  if (name.startsWith('kube-vip')) {
    return { made: importKubeVip(read.objects, destination), from: 'kube-vip' };
  }
  return { made: importExternalIpController(read.objects), from: 'externalipcontroller' };
}

describe('the corpus of imports', () => {
  it('is there', () => {
    expect(INPUTS).to.have.lengthOf.at.least(6);
  });

  for (const name of INPUTS) {
    it(`${name} becomes what is expected, and all of it is accepted`, () => {
      const { made, from } = converted(name, 'cluster');
      expect(accepted(made)).to.deep.equal(made);
      const text = printImported(made, from);
      const expected = join(FOLDER, name.replace('.yaml', '.expected.yaml'));
      if (process.env['HERALD_WRITE_FIXTURES'] === 'true') writeFileSync(expected, text);
      expect(text).to.equal(readFileSync(expected, 'utf8'));
      expect(text).not.to.include('do-not-print-me');
    });

    it(`${name} is read by an agent of files as it is printed for files`, () => {
      const { made, from } = converted(name, 'files');
      const results = splitDocuments(printImported(made, from)).flatMap(({ text }) =>
        readPiece(text),
      );
      expect(results).to.have.lengthOf(made.documents.length);
      for (const result of results) expect(result, JSON.stringify(result)).to.include({ ok: true });
    });
  }
});

describe('what an import makes', () => {
  it('is left out and told of where the schema would refuse it', () => {
    const pool = {
      apiVersion: 'metallb.io/v1beta1',
      kind: 'BGPPeer',
      metadata: { name: 'Upper_Case' },
      spec: { myASN: 64512, peerASN: 64500, peerAddress: '192.0.2.1' },
    };
    const { documents, gaps } = accepted(importMetallb([pool], 'cluster'));
    expect(documents).to.deep.equal([]);
    expect(gaps.join()).to.include('BGPPeer Upper_Case: it is left out:');
  });

  it('has no name in its commands that a shell would obey', () => {
    const evil = "tor $(touch /tmp/x) `id` '; reboot";
    const peer = (spec: object) => ({
      apiVersion: 'metallb.io/v1beta1',
      kind: 'BGPPeer',
      metadata: { name: evil },
      spec: { myASN: 64512, peerASN: 64500, peerAddress: '192.0.2.1', ...spec },
    });
    const secret = { name: evil, namespace: evil };
    for (const destination of ['cluster', 'files'] as const) {
      const { commands } = importMetallb(
        [peer({ passwordSecret: secret }), peer({ password: 'x' })],
        destination,
      );
      for (const command of commands.filter((line) => !line.startsWith('#'))) {
        const bare = command.replaceAll(/'(?:[^']|'\\'')*'/g, '');
        expect(bare, command).to.not.match(/[$`;]/);
      }
    }
  });

  it('tells of pools that hold the same address', () => {
    const map = (name: string, data: object) => ({ kind: 'ConfigMap', metadata: { name }, data });
    const { gaps } = importKubeVip(
      [map('kubevip', { 'cidr-a': '10.0.0.0/28', 'cidr-b': '10.0.0.9/28' })],
      'cluster',
    );
    expect(gaps.join('\n')).to.include('10.0.0.0/28 is also in IPPool cidr-a');
  });

  it('says that what is no YAML is none, and where', () => {
    const read = parseObjects('a: 1\nb: [\n');
    expect(read.ok ? '' : read.sentence).to.match(/not YAML that can be read in line \d/);
  });
});
