/**
 * The real thing beside the stand-ins: etcd and kube-apiserver in a master's namespace, with the certificates that the join
 * check verifies. `/readyz` is asked without credentials, as the agent does: Kubernetes' own default roles allow it.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { kubernetesPrograms } from '../../../tools/kubernetes/assets.ts';
import { done, notYet, until } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';
import { apiPort } from './addresses.ts';
import { createSigningKey } from './certificates.ts';
import type { Master } from './master.ts';

const etcdUrl = 'http://127.0.0.1:2379';

export class KubeApiServer {
  readonly #master: Master;
  readonly #program: string;
  readonly #signingKey: string;
  #api: Running | undefined;

  private constructor(master: Master, program: string, signingKey: string) {
    this.#master = master;
    this.#program = program;
    this.#signingKey = signingKey;
  }

  /** Builds kube-apiserver when this machine has none (minutes, with progress on stderr) and starts etcd. */
  static async prepare(master: Master): Promise<KubeApiServer> {
    const program = await kubeApiServerProgram();
    const data = join(master.host.folder, 'etcd');
    mkdirSync(data, { mode: 0o700 });
    const client = ['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl];
    const peer = ['--listen-peer-urls', 'http://127.0.0.1:2380'];
    const args = ['--data-dir', data, ...client, ...peer, '--unsafe-no-fsync'];
    const etcd = master.host.spawn('etcd', 'etcd', args);
    await until('etcd listens', async () => {
      if (!etcd.isRunning) throw new Error(etcd.log().slice(-2000));
      const { stdout } = await master.host.exec('ss', ['-Hltn', 'sport', '=', ':2379']);
      return stdout.trim() === '' ? notYet('no listener') : done(true);
    });
    return new KubeApiServer(master, program, await createSigningKey(master.host.folder));
  }

  start(): Running {
    const { keys, address, host } = this.#master;
    const settings: Readonly<Record<string, string>> = {
      'etcd-servers': etcdUrl,
      'bind-address': '0.0.0.0',
      'advertise-address': address,
      'secure-port': String(apiPort),
      'tls-cert-file': keys.certificate,
      'tls-private-key-file': keys.key,
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': this.#signingKey,
      'service-account-signing-key-file': this.#signingKey,
      'service-cluster-ip-range': '10.96.0.0/24',
      'authorization-mode': 'RBAC',
    };
    const flags = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    this.#api = host.spawn('kube-apiserver', this.#program, flags);
    return this.#api;
  }

  async kill(): Promise<void> {
    await this.#api?.kill();
  }

  log(): string {
    return this.#api?.log().slice(-4000) ?? '';
  }
}

export async function kubeApiServerProgram(): Promise<string> {
  const say = (sentence: string) => process.stderr.write(`kubernetes: ${sentence}\n`);
  const path = (await kubernetesPrograms(['kube-apiserver'], say)).get('kube-apiserver');
  if (path === undefined) throw new Error('kube-apiserver cannot be had');
  return path;
}
