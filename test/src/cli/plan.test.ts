/** `herald plan` on a folder of documents: what it refuses, with which words and which exit status. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { UsageError, type World } from '../../../src/cli/command.ts';
import { planCommand } from '../../../src/cli/plan.ts';
import { NO_DOCUMENTS } from '../../../src/model/documents.ts';
import { removalOf } from '../../../src/plan/plan-names.ts';

const document = (kind: string, name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec });
const TOR = { address: '192.0.2.1', asn: 64500, localASN: 64512 };

interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('herald plan on a folder of documents', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-plan-'));
  const change = mkdtempSync(join(tmpdir(), 'herald-plan-change-'));

  before(() => {
    const documents = [
      document('BGPPeer', 'tor', TOR),
      document('IPPool', 'public', { addresses: ['198.51.100.0/24'] }),
      document('IPClaim', '198.51.100.7', {}),
    ];
    writeFileSync(join(folder, 'all.yaml'), documents.join('\n---\n'));
  });

  after(() => {
    rmSync(folder, { recursive: true });
    rmSync(change, { recursive: true });
  });

  async function run(args: readonly string[]): Promise<Outcome> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const world: World = {
      stdin: new PassThrough(),
      stdout,
      stderr,
      env: {},
      pid: 1,
      version: '0',
      onStopSignal: () => undefined,
      onReloadSignal: () => undefined,
      onSuddenEnd: () => undefined,
    };
    const text = (stream: PassThrough) => String(stream.read() ?? '');
    try {
      const status = await planCommand.run([...args, '--source', `files:${folder}`], world);
      return { status, stdout: text(stdout), stderr: text(stderr) };
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return { status: 2, stdout: text(stdout), stderr: error.message };
    }
  }

  const deleted = (what: string) => run(['--delete', what]);

  function put(text: string): Promise<Outcome> {
    const file = join(change, 'change.yaml');
    writeFileSync(file, text);
    return run(['-f', file]);
  }

  for (const spelling of ['BGPPeer', 'bgppeer', 'bgppeers', 'bgpp', 'bgppeers.herald.dev']) {
    it(`--delete ${spelling}/tor is the deletion of BGPPeer tor`, async () => {
      const { status, stdout } = await deleted(`${spelling}/tor`);
      expect(stdout).to.match(/close +session +tor\n/);
      expect(stdout).to.match(/withdraw +198\.51\.100\.7\/32 +tor\n/);
      expect(status).to.equal(0);
    });
  }

  it('refuses a name that is not there, with the names there are and status 1', async () => {
    const { status, stdout, stderr } = await deleted('BGPPeer/torr');
    expect(stderr).to.include("there is no BGPPeer 'torr'; did you mean 'tor'? there is: tor");
    expect(stdout).to.equal('');
    expect(status).to.equal(1);
    const far = await deleted('ippool/unheard-of');
    expect(far.stderr).to.include("there is no IPPool 'unheard-of'; there is: public");
    expect(far.status).to.equal(1);
  });

  it('refuses a bare name and an unknown kind, with what was meant and status 2', async () => {
    const bare = await deleted('tor');
    expect(bare.stderr).to.include('did you mean BGPPeer/tor?');
    expect(bare.status).to.equal(2);
    const kind = await deleted('BGPPear/nobody');
    expect(kind.stderr).to.include('did you mean BGPPeer/nobody?');
    expect(kind.status).to.equal(2);
  });

  it('refuses a pool that overlaps another one, also one that grows into it, with status 1', async () => {
    const { status, stdout, stderr } = await put(
      document('IPPool', 'more', { addresses: ['198.51.100.128/25'] }),
    );
    expect(stderr).to.include("IPPool/more would be refused: '198.51.100.128/25' overlaps");
    expect(stdout).to.equal('');
    expect(status).to.equal(1);
    const both = [
      document('IPPool', 'one', { addresses: ['203.0.113.0/25'] }),
      document('IPPool', 'two', { addresses: ['203.0.113.0/24'] }),
    ];
    expect((await put(both.join('\n---\n'))).status).to.equal(1);
    const apart = await put(document('IPPool', 'more', { addresses: ['203.0.113.0/24'] }));
    expect(apart.status, apart.stderr).to.equal(0);
  });

  it('refuses a peer that is the same session as another one, with status 1', async () => {
    const { status, stderr } = await put(document('BGPPeer', 'copy', TOR));
    expect(stderr).to.include('BGPPeer/copy would be refused');
    expect(stderr).to.include('the same session as BGPPeer/tor');
    expect(status).to.equal(1);
  });

  it('finds IPv6 claims by their address, and counts names beyond ten', () => {
    const claims = Array.from({ length: 12 }, (_, index) => ({
      object: { name: `2001-0db8-0000-0000-0000-0000-0000-00${10 + index}` },
    }));
    const documents = { ...NO_DOCUMENTS, claims: claims as never };
    expect(removalOf('ipc/2001:db8::11', documents)).to.deep.equal({
      ok: true,
      subject: 'IPClaim/2001-0db8-0000-0000-0000-0000-0000-0011',
    });
    const missing = removalOf('ipc/192.0.2.1', documents);
    expect(missing.ok ? '' : missing.sentence).to.match(/0019 and 2 more$/);
  });

  it('knows kinds by all names that deploy/crds gives them', () => {
    for (const [file, kind] of [
      ['ippools', 'IPPool'],
      ['bgppeers', 'BGPPeer'],
      ['ipclaims', 'IPClaim'],
    ]) {
      const url = new URL(`../../../deploy/crds/${file}.yaml`, import.meta.url);
      const { spec } = load(readFileSync(url, 'utf8')) as { spec: { names: CrdNames } };
      const { singular, plural, shortNames } = spec.names;
      for (const name of [singular, plural, ...shortNames]) {
        const found = removalOf(`${name}/x`, NO_DOCUMENTS);
        expect(found.ok ? '' : found.sentence, name).to.include(`there is no ${kind} at all`);
      }
    }
  });
});

interface CrdNames {
  readonly singular: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
}
