import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { certificateMarks, nodeUidOf } from '../../../../src/sources/kube/cluster-marks.ts';
import { loadKubeAccess } from '../../../../src/sources/kube/kube-access.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

describe('the marks of a cluster', () => {
  let folder = '';
  let root = '';
  let below = '';
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const file = (name: string) => join(folder, name);

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-marks-'));
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const out = (name: string) => ['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`)];
    openssl('req', '-x509', ...key, '-subj', '/CN=root', ...out('root'));
    openssl('req', ...key, '-subj', '/CN=below', ...out('below-request'));
    const signed = ['-CA', file('root.pem'), '-CAkey', file('root.key'), '-CAcreateserial'];
    openssl('x509', '-req', '-in', file('below-request.pem'), ...signed, '-out', file('below.pem'));
    root = readFileSync(file('root.pem'), 'utf8');
    below = readFileSync(file('below.pem'), 'utf8');
  });
  after(() => rmSync(folder, { recursive: true }));

  it('are its own authorities; a root above them may be shared with other clusters', () => {
    expect(certificateMarks(root)).to.have.length(1);
    expect(certificateMarks(below + root)).to.deep.equal(certificateMarks(below));
    expect(certificateMarks(root)).not.to.deep.equal(certificateMarks(below));
    expect(certificateMarks('nothing')).to.deep.equal([]);
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    expect(certificateMarks(broken + root)).to.deep.equal(certificateMarks(root));
  });

  it('are the same in a kubeconfig, by its data or by a file; without any, the server is', async () => {
    const write = (name: string, cluster: object) => {
      const server = 'https://192.0.2.1:6443';
      const config = {
        clusters: [{ name, cluster: { server, ...cluster } }],
        users: [{ name, user: { token: 't' } }],
        contexts: [{ name, context: { cluster: name, user: name } }],
        'current-context': name,
      };
      writeFileSync(file(name), JSON.stringify(config));
      utimesSync(file(name), 1000, 1000);
      return file(name);
    };
    const identity = async (kubeconfig: string) =>
      (
        await loadKubeAccess({
          kubeconfig,
          env: {},
          readFile: (path) => readFileSync(path, 'utf8'),
          clock: new ManualClock(),
        })
      ).identity;
    const data = { 'certificate-authority-data': Buffer.from(root).toString('base64') };
    expect(await identity(write('data', data))).to.deep.equal({
      marks: certificateMarks(root),
      unchangedSinceMs: 1_000_000,
    });
    const inFile = await identity(write('file', { 'certificate-authority': 'root.pem' }));
    expect(inFile.marks).to.deep.equal(certificateMarks(root));
    expect(inFile.unchangedSinceMs).to.be.above(1_000_000);
    const bare = await identity(write('bare', { 'insecure-skip-tls-verify': true }));
    expect(bare.marks).to.deep.equal(['server:https://192.0.2.1:6443/']);
  });

  it("name the Node of a pod's token", () => {
    const token = (claims: unknown) =>
      `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
    const bound = { 'kubernetes.io': { node: { name: 'n1', uid: 'u-1' } } };
    expect(nodeUidOf(token(bound))).to.equal('u-1');
    for (const other of [token({}), token(null), token('x'), 'a.b.c', 'plain', '']) {
      expect(nodeUidOf(other)).to.equal(undefined);
    }
  });
});
