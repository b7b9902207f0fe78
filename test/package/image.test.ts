/**
 * deploy/Dockerfile without a tool that builds images: what it copies is there after `make build`, and a root folder made by its own COPY lines, read-only and with
 * an empty environment, runs both pods of deploy/base as these say. What this cannot see is debian:12-slim itself: the libraries here are those of this machine.
 * And `make image` with tools that only write down what they were asked.
 */

import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { requireLab, skipLoudly } from '../interop/require-lab.ts';
import { field, items, text } from '../interop/routers/json.ts';
import { TestAuthority } from '../support/certificates.ts';
import { type Output, run } from '../support/process.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE_PACKAGE = `node-linux-${process.arch}`;
const DOCKERFILE = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

interface Copy {
  readonly from: string;
  readonly to: string;
}

const COPIES: readonly Copy[] = [...DOCKERFILE.matchAll(/^COPY (\S+) (\S+)$/gm)].map(
  ([, from = '', to = '']) => ({ from: filled(from), to: filled(to) }),
);

function filled(path: string): string {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Docker's form, not ours
  return path.replaceAll('${NODE_PACKAGE}', NODE_PACKAGE);
}

/** as Docker does: a folder's content goes into the folder that is named */
function copyInto(root: string): void {
  for (const { from, to } of COPIES) cpSync(join(ROOT, from), join(root, to), { recursive: true });
}

describe('deploy/Dockerfile', () => {
  it('copies what is there after make build, and nothing that its ignore list leaves out', () => {
    expect(COPIES.map(({ from }) => from)).to.deep.equal([
      `node_modules/${NODE_PACKAGE}/bin/node`,
      'dist/',
    ]);
    const kept = readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => new RegExp(`^${line.slice(1).replace('*', '[^/]*')}(?:/|$)`));
    for (const { from } of COPIES) {
      expect(existsSync(join(ROOT, from)), `${from} is there`).to.equal(true);
      expect(
        kept.some((pattern) => pattern.test(from)),
        `${from} is not left out`,
      ).to.equal(true);
    }
  });

  it('starts what it copies, as the user that the controller runs as', () => {
    const last = (word: string) => DOCKERFILE.match(new RegExp(`^${word} (.+)$`, 'gm'))?.at(-1);
    expect(last('USER')).to.equal('USER 65532:65532');
    expect(last('ENTRYPOINT')).to.equal('ENTRYPOINT ["/opt/herald/herald"]');
    expect(last('RUN')).to.equal('RUN ["/opt/herald/herald", "--version"]');
  });
});

describe('the root folder of the image, read-only, with an empty environment', function () {
  this.timeout(120_000);
  let folder = '';

  before(function make() {
    const missing = requireLab([]);
    if (missing.length > 0)
      skipLoudly(this, `the image's folder needs a lab: ${missing.join(' ')}`);
    folder = mkdtempSync(join(tmpdir(), 'herald-image-'));
    chmodSync(folder, 0o755);
    for (const each of ['usr', 'proc', 'dev', 'var/lib/herald', 'run/herald', ACCOUNT]) {
      mkdirSync(join(folder, each), { recursive: true });
    }
    for (const each of ['bin', 'sbin', 'lib', 'lib64'])
      symlinkSync(`usr/${each}`, join(folder, each));
    // what a pod has of its ServiceAccount; the API server that it names does not answer
    writeFileSync(join(folder, ACCOUNT, 'token'), 'no-token');
    writeFileSync(join(folder, ACCOUNT, 'namespace'), 'herald-system');
    cpSync(new TestAuthority('image').caFile, join(folder, ACCOUNT, 'ca.crt'));
    copyInto(folder);
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  /** runs as root, in namespaces of its own, the folder mounted as a pod would have it */
  const inside = (script: string): Promise<Output> =>
    run(
      'unshare',
      [
        '--mount',
        '--net',
        '--pid',
        '--fork',
        '--kill-child',
        'sh',
        '-ec',
        `${ENTER}\n${script}`,
        folder,
      ],
      {
        timeoutMs: 60_000,
        anyStatus: true,
      },
    );

  it('says its version and its help', async () => {
    const asNobody = `${CHROOT} ${AS_CONTROLLER} /opt/herald/herald`;
    const version = await inside(`${asNobody} --version`);
    expect(version.stdout, version.stderr).to.equal(`herald ${VERSION}\n`);
    const help = await inside(`${asNobody} --help`);
    expect(help.stdout, help.stderr).to.include('controller');
  });

  it('runs the agent as its DaemonSet says, with NET_ADMIN alone, and ends with 0', async () => {
    const { stdout, stderr } = await inside(service(`${CHROOT} ${AS_AGENT}`, argsOf('agent.yaml')));
    expect(stdout, stderr).to.include('livez 200').and.include('status 0');
  });

  it('runs the controller as its Deployment says, with no power at all, and ends with 0', async () => {
    const script = service(`${CHROOT} ${AS_CONTROLLER}`, argsOf('controller.yaml'));
    const { stdout, stderr } = await inside(script);
    expect(stdout, stderr).to.include('livez 200').and.include('status 0');
  });
});

const ACCOUNT = 'var/run/secrets/kubernetes.io/serviceaccount';

const ENTER = `
mount --bind "$0" "$0"
mount --bind /usr "$0/usr"
mount -o remount,bind,ro "$0/usr"
mount -t proc proc "$0/proc"
mount -t tmpfs tmpfs "$0/dev"
for each in null zero random urandom; do touch "$0/dev/$each"; mount --bind "/dev/$each" "$0/dev/$each"; done
mount -t tmpfs tmpfs "$0/var/lib/herald"
mount -t tmpfs tmpfs "$0/run/herald"
mount -o remount,bind,ro "$0"
ip link set lo up`;

const CHROOT = 'chroot "$0"';
const ENV = [
  '/usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=1',
  'HERALD_NODE_NAME=n1 HERALD_POD_NAME=herald-agent-x HERALD_METRICS_ADDRESS=127.0.0.1',
].join(' ');
const AS_AGENT = `/usr/bin/setpriv --no-new-privs --bounding-set=-all,+net_admin --inh-caps=-all,+net_admin ${ENV}`;
const AS_CONTROLLER = `/usr/bin/setpriv --reuid=65532 --regid=65532 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all ${ENV}`;

/** Starts it, asks for /livez until it answers, ends it by SIGTERM and tells its status. */
function service(as: string, args: readonly string[]): string {
  return `
${as} /opt/herald/herald ${args.join(' ')} &
pid=$!
tries=0
until code=$(curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:9179/livez); do
  tries=$((tries + 1)); [ $tries -lt 200 ] || { echo 'never answered'; exit 1; }
  sleep 0.1
done
echo "livez $code"
kill -TERM $pid
status=0; wait $pid || status=$?
echo "status $status"`;
}

function argsOf(file: string): readonly string[] {
  const [owner] = loadAll(readFileSync(join(ROOT, 'deploy/base', file), 'utf8'));
  const [container] = items(field(owner, 'spec', 'template', 'spec', 'containers'));
  return items(field(container, 'args')).map(text);
}

describe('make image', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-image-tool-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const tool = (name: string, script: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  const image = (env: Readonly<Record<string, string>> = {}) =>
    run(join(ROOT, 'tools/image.sh'), [], {
      env: { IMAGE: '', IMAGE_TOOL: '', BASE: '', PATH: `${folder}:/usr/bin:/bin`, ...env },
      anyStatus: true,
    });

  it('says in a sentence that there is no tool, or none that works, and fails', async () => {
    for (const name of ['docker', 'podman', 'buildah']) tool(name, 'exit 1');
    const { status, stderr } = await image();
    expect(status).to.equal(1);
    expect(stderr).to.include('docker is installed and does not work');
    expect(stderr).to.include('it takes docker, podman or buildah');
  });

  it('asks the first tool that works for the image that deploy/base names', async () => {
    for (const name of ['docker', 'podman']) tool(name, 'exit 1');
    tool('buildah', 'echo buildah "$@"');
    const { stdout, stderr, status } = await image();
    expect(status, stderr).to.equal(0);
    expect(stdout).to.include(
      `-f deploy/Dockerfile -t herald:${VERSION} --build-arg NODE_PACKAGE=${NODE_PACKAGE} .`,
    );
    expect(stdout).to.include('--ignorefile deploy/Dockerfile.dockerignore');
  });

  it('takes a name, a tool and a base', async () => {
    for (const name of ['docker', 'podman']) tool(name, `echo ${name} "$@"`);
    const { stdout } = await image({
      IMAGE: 'registry.example/herald:1',
      IMAGE_TOOL: 'podman',
      BASE: 'base:1',
    });
    expect(stdout).to.match(
      /^podman build .*-t registry\.example\/herald:1 .*--build-arg BASE=base:1 \.$/m,
    );
  });
});
