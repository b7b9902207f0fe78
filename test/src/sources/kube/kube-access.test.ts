import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { KubeAccessError } from '../../../../src/sources/kube/find-kubeconfig.ts';
import {
  type KubeAccess,
  type KubeAccessOptions,
  loadKubeAccess,
} from '../../../../src/sources/kube/kube-access.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

interface Entry {
  readonly server?: string;
  readonly user?: object;
  readonly cluster?: object;
  readonly name?: string;
  readonly current?: string;
}

function kubeconfig({
  server = 'https://192.0.2.1:6443',
  user = { token: 't' },
  cluster = {},
  name = 'one',
  current = name,
}: Entry = {}): string {
  return JSON.stringify({
    clusters: [{ name, cluster: { server, ...cluster } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': current,
  });
}

describe('the way to the API', () => {
  let folder: string;
  let clock: ManualClock;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-access-'));
    clock = new ManualClock();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const load = (options: Partial<KubeAccessOptions> = {}): Promise<KubeAccess> =>
    loadKubeAccess({ env: {}, readFile: (path) => readFileSync(path, 'utf8'), clock, ...options });
  const refusal = async (options: Partial<KubeAccessOptions>): Promise<string> => {
    try {
      await load(options);
    } catch (error) {
      expect(error).to.be.instanceOf(KubeAccessError);
      return error instanceof Error ? error.message : '';
    }
    throw new Error('it should have been refused');
  };
  const hosts = ({ servers }: KubeAccess) => servers.map(({ host }) => host);
  const token = async (access: KubeAccess) => (await access.credentials()).headers['Authorization'];

  describe('is found', () => {
    it('in the kubeconfig that was named, before all others', async () => {
      const named = write('named', kubeconfig({ server: 'https://192.0.2.7:6443' }));
      const other = write('other', kubeconfig());
      const access = await load({ kubeconfig: named, env: { KUBECONFIG: other } });
      expect(hosts(access)).to.deep.equal(['192.0.2.7:6443']);
      expect(access.origin).to.equal(`context one of ${named}`);
    });

    it('in the files of $KUBECONFIG, of which the first has the say and some may be missing', async () => {
      const first = write('first', kubeconfig({ name: 'one', server: 'https://192.0.2.1' }));
      const second = write('second', kubeconfig({ name: 'one', server: 'https://192.0.2.2' }));
      const third = write('third', kubeconfig({ name: 'three', server: 'https://192.0.2.3' }));
      const env = { KUBECONFIG: [join(folder, 'missing'), first, second, third].join(':') };
      expect(hosts(await load({ env }))).to.deep.equal(['192.0.2.1']);
      expect(hosts(await load({ env, context: 'three' }))).to.deep.equal(['192.0.2.3']);
    });

    it('in the service account of a pod', async () => {
      write('token', 'pod-token');
      write('ca.crt', 'CA');
      const env = {
        KUBERNETES_SERVICE_HOST: 'fd00::1',
        KUBERNETES_SERVICE_PORT: '6443',
        HOME: '/nowhere',
      };
      const access = await load({ env, serviceAccountFolder: folder });
      expect(hosts(access)).to.deep.equal(['[fd00::1]:6443']);
      expect(await token(access)).to.equal('Bearer pod-token');
      expect(String((await access.credentials()).tls.ca)).to.equal('CA');
    });

    it('in the home folder', async () => {
      const path = join(folder, 'config');
      write('config', kubeconfig());
      const readFile = (asked: string) =>
        readFileSync(asked === '/home/x/.kube/config' ? path : asked, 'utf8');
      expect(hosts(await load({ env: { HOME: '/home/x' }, readFile }))).to.deep.equal([
        '192.0.2.1:6443',
      ]);
    });
  });

  describe('is refused with what to do', () => {
    it('when there is none', async () => {
      const sentence = await refusal({ env: { HOME: folder }, serviceAccountFolder: folder });
      expect(sentence).to.include('there is no kubeconfig: name one with --kubeconfig');
      expect(await refusal({ env: { KUBECONFIG: '/no/such' } })).to.equal(
        '$KUBECONFIG: there is no /no/such; correct it, or unset it',
      );
    });

    it('when the file cannot be read', async () => {
      expect(await refusal({ kubeconfig: '/no/such' })).to.equal(
        'kubeconfig /no/such cannot be read: there is no such file',
      );
      expect(await refusal({ kubeconfig: folder })).to.equal(
        `kubeconfig ${folder} cannot be read: EISDIR`,
      );
    });

    it('when it is no kubeconfig, without showing what is in it', async () => {
      const path = write('broken', 'token: [very-secret');
      expect(await refusal({ kubeconfig: path })).to.equal(`kubeconfig ${path} is no YAML`);
      const text = write('text', 'hello');
      expect(await refusal({ kubeconfig: text })).to.include(
        'holds no clusters, contexts and users',
      );
    });

    it('when the context is not there', async () => {
      const path = write('config', kubeconfig());
      expect(await refusal({ kubeconfig: path, context: 'other' })).to.equal(
        `kubeconfig ${path} has no context other; it has: one`,
      );
      const none = write('none', kubeconfig({ current: '' }));
      expect(await refusal({ kubeconfig: none })).to.include(
        'has no current context; choose one of: one',
      );
    });

    it('when a server is no URL', async () => {
      const path = write('config', kubeconfig());
      expect(await refusal({ kubeconfig: path, servers: ['192.0.2.1'] })).to.include(
        "'192.0.2.1' is no URL of an API server",
      );
    });
  });

  it('has more servers where they are given, each once', async () => {
    const path = write('config', kubeconfig());
    const servers = ['https://192.0.2.2:6443', 'https://192.0.2.1:6443'];
    expect(hosts(await load({ kubeconfig: path, servers }))).to.deep.equal([
      '192.0.2.1:6443',
      '192.0.2.2:6443',
    ]);
  });

  it('has certificates in the file or beside it, and the name that the server shall have', async () => {
    write('ca.pem', 'CA FILE');
    const user = { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') };
    const cluster = { 'certificate-authority': 'ca.pem', 'tls-server-name': 'kubernetes' };
    const access = await load({ kubeconfig: write('config', kubeconfig({ user, cluster })) });
    const { tls, headers } = await access.credentials();
    expect([tls.ca, tls.cert, tls.key].map(String)).to.deep.equal(['CA FILE', 'CERT', 'KEY']);
    expect(tls.servername).to.equal('kubernetes');
    expect(tls.rejectUnauthorized).to.equal(undefined);
    expect(headers).to.deep.equal({});
  });

  it('verifies no server only where it was told so', async () => {
    const cluster = { 'insecure-skip-tls-verify': true };
    const access = await load({ kubeconfig: write('config', kubeconfig({ cluster })) });
    expect((await access.credentials()).tls.rejectUnauthorized).to.equal(false);
  });

  it('runs the plugin of a user, once', async () => {
    const count = join(folder, 'count');
    const credential = JSON.stringify({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'from-plugin' },
    });
    const plugin = write('plugin', `#!/bin/sh\necho x >> ${count}\necho '${credential}'\n`);
    chmodSync(plugin, 0o755);
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: plugin,
      interactiveMode: 'Never',
    };
    const access = await load({ kubeconfig: write('config', kubeconfig({ user: { exec } })) });
    expect(await token(access)).to.equal('Bearer from-plugin');
    clock.advance(61_000);
    expect(await token(access)).to.equal('Bearer from-plugin');
    expect(readFileSync(count, 'utf8')).to.equal('x\n');
  });

  it('says why a plugin gives nothing, and asks it again', async () => {
    const plugin = write('plugin', '#!/bin/sh\necho no such account >&2\nexit 1\n');
    chmodSync(plugin, 0o755);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin };
    const access = await load({ kubeconfig: write('config', kubeconfig({ user: { exec } })) });
    for (let count = 0; count < 2; count += 1) {
      const error = await access.credentials().catch((reason: unknown) => reason);
      expect(error).to.have.property('message').that.includes('no such account');
    }
  });

  describe('follows what is rotated', () => {
    it('a token in a file of its own, at once when the old one is refused', async () => {
      const path = write('token', 'first\n');
      const access = await load({
        kubeconfig: write('config', kubeconfig({ user: { tokenFile: 'token' } })),
      });
      expect(await token(access)).to.equal('Bearer first');
      writeFileSync(path, 'second\n');
      expect(await token(access), 'kept for a while').to.equal('Bearer first');
      access.renew();
      expect(await token(access)).to.equal('Bearer second');
    });

    it('a kubeconfig that is written anew, after a minute; the connections stay where the certificates do', async () => {
      const path = write('config', kubeconfig({ user: { token: 'first' } }));
      const access = await load({ kubeconfig: path });
      const { tls } = await access.credentials();
      write('config', kubeconfig({ user: { token: 'second' } }));
      clock.advance(61_000);
      expect(await token(access)).to.equal('Bearer second');
      expect((await access.credentials()).tls).to.equal(tls);
      write('config', kubeconfig({ cluster: { 'certificate-authority-data': base64('CA') } }));
      clock.advance(61_000);
      expect((await access.credentials()).tls).not.to.equal(tls);
    });

    it('keeps what it has while a file is half written or gone', async () => {
      const path = write('config', kubeconfig({ user: { token: 'first' } }));
      const access = await load({ kubeconfig: path });
      write('config', 'clusters: [');
      clock.advance(61_000);
      expect(await token(access)).to.equal('Bearer first');
      rmSync(path);
      access.renew();
      expect(await token(access)).to.equal('Bearer first');
    });
  });
});
