/**
 * deploy/ before a real API server: it can be applied as it is, every file passes a server-side dry run with no unknown field, pods may
 * start where they shall, every rule of the kinds refuses with its own sentence, and `kubectl get` reads well.
 */

import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { ApiError, type KubeObject } from '../../src/sources/kube/api.ts';
import { DAEMON_SETS, inNamespace, PODS } from '../../src/sources/kube/resources.ts';
import { readCrdSchema } from '../../tools/crd-validators.ts';
import { field, items, text } from '../interop/routers/json.ts';
import { COLUMN_OBJECTS, COLUMN_STATUSES } from './deploy-columns.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { pathOf } from './support/test-api.ts';

const ROOT = join(import.meta.dirname, '../..');
const CORPUS = join(ROOT, 'test/corpus/documents/bad');
const PLURALS = ['bgppeers', 'ipclaims', 'ipnodes', 'ippools'];

const KUSTOMIZATIONS = globSync('deploy/**/kustomization.yaml', { cwd: ROOT })
  .map((file) => file.slice(0, -'/kustomization.yaml'.length))
  .filter((folder) => !folder.startsWith('deploy/components/'))
  .toSorted();

/** whole objects; patches are parts of one and are tried as their overlay renders them */
const FILES = globSync('deploy/**/*.yaml', { cwd: ROOT })
  .filter((file) => !file.endsWith('/kustomization.yaml') && !patchFiles().has(file))
  .toSorted();

function patchFiles(): ReadonlySet<string> {
  const kustomizations = globSync('deploy/**/kustomization.yaml', { cwd: ROOT });
  return new Set(
    kustomizations.flatMap((file) => {
      const patches = items(field(load(readFileSync(join(ROOT, file), 'utf8')), 'patches'));
      const paths = patches.map((patch) => text(field(patch, 'path'))).filter((path) => path);
      return paths.map((path) => join(file, '..', path));
    }),
  );
}

/** every message of a CEL rule in a schema, at any depth */
function sentences(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(sentences);
  if (typeof schema !== 'object' || schema === null) return [];
  const own = items(field(schema, 'x-kubernetes-validations')).map((rule) =>
    text(field(rule, 'message')),
  );
  return [...own, ...Object.values(schema).flatMap(sentences)];
}

describe('deploy/ before a real API server', function () {
  this.timeout(120_000);
  let cluster: Cluster;

  before(async function () {
    this.timeout(30 * 60_000);
    skipWithoutCluster(this);
    cluster = await startCluster();
  });

  after(async () => await cluster?.stop());

  const kubectl = async (...args: readonly string[]): Promise<string> =>
    (await cluster.kubectl(args)).stdout;

  const versions = async (): Promise<string> => {
    const rows =
      '{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}';
    return await kubectl('get', '-k', join(ROOT, 'deploy/base'), '-o', `jsonpath=${rows}`);
  };

  it('is applied as a whole to an empty cluster, and the second time changes nothing', async () => {
    const first = await kubectl('apply', '-k', join(ROOT, 'deploy/base'));
    expect(first).to.contain('daemonset.apps/herald-agent created');
    const kinds = PLURALS.map((plural) => `crd/${plural}.herald.dev`);
    await kubectl('wait', '--for=condition=Established', '--timeout=60s', ...kinds);
    const before = await versions();
    expect(before.trim().split('\n').length).to.be.above(20);
    await kubectl('apply', '-k', join(ROOT, 'deploy/base'));
    expect(await versions()).to.equal(before);
  });

  it('has every file in a folder that somebody applies', () => {
    expect(KUSTOMIZATIONS).to.include.members([
      'deploy/base',
      'deploy/overlays/simple',
      'deploy/overlays/single-node',
    ]);
    expect(FILES.length).to.be.above(20);
  });

  for (const file of FILES) {
    it(`passes a server-side dry run: ${file}`, async () => {
      const said = await kubectl(...DRY_RUN, '-f', join(ROOT, file));
      expect(said).to.contain('serverside-applied (server dry run)');
    });
  }

  for (const folder of KUSTOMIZATIONS) {
    it(`passes a server-side dry run: kubectl kustomize ${folder}`, async () => {
      const rendered = await kubectl('kustomize', join(ROOT, folder));
      const { stdout } = await cluster.kubectl([...DRY_RUN, '-f', '-'], rendered);
      const objects = rendered.match(/^kind: /gm)?.length ?? 0;
      expect(stdout.match(/serverside-applied/g)).to.have.lengthOf(objects);
    });
  }

  it('adds NET_BIND_SERVICE by the component listen, to base and simple alike', async () => {
    for (const folder of ['base', 'overlays/simple', 'overlays/single-node']) {
      const component = 'components: [../../components/listen]\n';
      const rendered = await kustomize(cluster, `resources: [../../${folder}]\n${component}`);
      expect(rendered).to.match(/add:\n\s+- NET_ADMIN\n\s+- NET_BIND_SERVICE\n/);
    }
  });

  describe('docs/kubernetes.md', () => {
    const page = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');
    const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);

    it('has objects that pass a server-side dry run', async () => {
      const objects = blocks.filter((block) => block.startsWith('apiVersion: '));
      expect(objects).to.have.lengthOf(3);
      const { stdout } = await cluster.kubectl([...DRY_RUN, '-f', '-'], objects.join('---\n'));
      expect(stdout.match(/serverside-applied/g)).to.have.lengthOf(3);
    });

    it('has an overlay that does what it says', async () => {
      const [overlay = ''] = blocks.filter((block) => block.startsWith('# kustomization.yaml'));
      const rendered = await kustomize(cluster, overlay.replace('../herald/deploy/', '../../'));
      expect(rendered).to.contain('image: registry.example/herald:0.2.0-dev\n');
      expect(rendered).to.match(/args:\n\s+- controller\n\s+- --default-class\n/);
      expect(rendered).to.match(/nodeSelector:\n\s+example.net\/edge: "true"\n/);
    });

    it('has an overlay with a namespace that the API server takes', async () => {
      const [overlay = ''] = blocks.filter((block) => block.includes('\nnamespace: herald-system'));
      const rendered = await kustomize(cluster, overlay.replace('../herald/deploy/', '../../'));
      const { stdout } = await cluster.kubectl([...DRY_RUN, '-f', '-'], rendered);
      const objects = rendered.match(/^kind: /gm)?.length ?? 0;
      expect(stdout.match(/serverside-applied/g)).to.have.lengthOf(objects);
    });

    it('links to what there is', () => {
      const links = [...page.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to);
      expect(links.filter((to) => !existsSync(join(ROOT, 'docs', to)))).to.deep.equal([]);
    });
  });

  describe('the pods', () => {
    const podOf = async (plural: string, name: string): Promise<object> => {
      const resource = { ...DAEMON_SETS, plural };
      const owner = await cluster.api.get(resource, name);
      const template = field(owner, 'spec', 'template');
      return { spec: field(template, 'spec'), metadata: { name: 'trial' } };
    };
    const tryIn = async (namespace: string, pod: object): Promise<unknown> =>
      await cluster.api.call({
        method: 'POST',
        path: pathOf(inNamespace(PODS, namespace)),
        query: { dryRun: 'All' },
        body: pod,
      });

    it('may start in herald-system', async () => {
      await tryIn('herald-system', await podOf('daemonsets', 'herald-agent'));
      await tryIn('herald-system', await podOf('deployments', 'herald-controller'));
    });

    it('are restricted, in the words of Kubernetes, where it is the controller', async () => {
      const namespace = await trialNamespace(cluster, 'restricted', 'herald-controller');
      await tryIn(namespace, await podOf('deployments', 'herald-controller'));
    });

    it('need the label of the namespace where it is the agent: host network and folders', async () => {
      const namespace = await trialNamespace(cluster, 'baseline', 'herald-agent');
      const refusal = await refusalOf(tryIn(namespace, await podOf('daemonsets', 'herald-agent')));
      expect(refusal).to.contain('host namespaces').and.to.contain('hostPath volumes');
      expect(refusal).to.not.contain('privileged=true');
    });

    it('of the agent have no power but NET_ADMIN, and more time to stop than a drain takes', async () => {
      const agent = await podOf('daemonsets', 'herald-agent');
      const [container] = items(field(agent, 'spec', 'containers'));
      expect(field(container, 'securityContext')).to.deep.equal({
        runAsUser: 0,
        runAsGroup: 0,
        privileged: false,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
      });
      const pool = readCrdSchema('ippools');
      const drain = field(pool, 'properties', 'spec', 'properties', 'drain', 'properties');
      const wait = Number(field(drain, 'waitSeconds', 'default'));
      expect(field(agent, 'spec', 'terminationGracePeriodSeconds')).to.be.at.least(wait + 20);
    });
  });

  it('has the image of this version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const rendered = await kubectl('kustomize', join(ROOT, 'deploy/base'));
    const images = rendered.match(/image: .*/g);
    expect(images).to.deep.equal([`image: herald:${version}`, `image: herald:${version}`]);
    expect(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')).to.contain(`herald:${version}`);
  });

  it('refuses by every rule of the kinds, each with its own sentence', async () => {
    const rules = new Set(PLURALS.flatMap((plural) => sentences(readCrdSchema(plural))));
    expect(rules.size).to.be.above(20);
    const said = await Promise.all(readdirSync(CORPUS).map((name) => refusalOfFile(cluster, name)));
    const silent = [...rules].filter((rule) => !said.some((each) => each.includes(rule)));
    expect(silent, 'rules that no document of the corpus meets').to.deep.equal([]);
  });

  it('reads well in kubectl get', async () => {
    await cluster.applyObjects(...COLUMN_OBJECTS);
    for (const { resource, name, status } of COLUMN_STATUSES) {
      const patch = { kind: 'merge', body: { status } } as const;
      await cluster.api.patch(resource, name, patch, { subresource: 'status' });
    }
    const shown = await kubectl('get', 'ippools,ipclaims,ipnodes,bgppeers');
    const golden = readFileSync(join(import.meta.dirname, 'deploy-columns.txt'), 'utf8');
    expect(normal(shown)).to.equal(normal(golden));
    const short = await kubectl('get', 'ipp,ipc,ipn,bgpp');
    expect(normal(short), 'by short names').to.equal(normal(golden));
    const category = await kubectl('get', 'herald', '-o', 'name');
    expect(category.trim().split('\n')).to.have.lengthOf(COLUMN_OBJECTS.length);
  });

  it('tells in kubectl explain what a field is', async () => {
    const said = await kubectl('explain', 'ipnode.status.observedClaims');
    expect(said).to.contain('resourceVersion of IPClaims');
  });
});

const DRY_RUN = ['apply', '--server-side', '--force-conflicts', '--dry-run=server'];

/** ages differ, and with them the width of the last column */
function normal(table: string): string {
  const lines = table.trimEnd().split('\n');
  return lines.map((line) => line.replace(/ +\d+m?s$/, ' AGE').trimEnd()).join('\n');
}

/** A kustomization as an overlay of ours would be: `../../base` is deploy/base. In a copy, since kustomize takes relative paths only. */
async function kustomize(cluster: Cluster, kustomization: string): Promise<string> {
  const copy = join(cluster.folder, 'deploy');
  cpSync(join(ROOT, 'deploy'), copy, { recursive: true });
  const folder = mkdtempSync(join(copy, 'overlays/trial-'));
  writeFileSync(join(folder, 'kustomization.yaml'), kustomization);
  return (await cluster.kubectl(['kustomize', folder])).stdout;
}

async function trialNamespace(cluster: Cluster, level: string, account: string): Promise<string> {
  const labels = { 'pod-security.kubernetes.io/enforce': level };
  const namespace = await cluster.namespace('trial', labels);
  const accounts = { group: '', version: 'v1', plural: 'serviceaccounts', namespace };
  await cluster.api.create(accounts, { metadata: { name: account } });
  return namespace;
}

async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
  return '';
}

/** what the API server says about a bad document; nothing where it is no document of a kind of ours */
async function refusalOfFile(cluster: Cluster, name: string): Promise<string> {
  const source = readFileSync(join(CORPUS, name), 'utf8');
  const kind = /^kind: (\w+)/m.exec(source)?.[1] ?? '';
  const plural = `${kind.toLowerCase()}s`;
  if (!PLURALS.includes(plural)) return '';
  let document: unknown;
  try {
    document = load(source);
  } catch {
    // text that is no YAML never reaches an API server
    return '';
  }
  const resource = { group: 'herald.dev', version: 'v1alpha1', plural };
  const body = isObject(document) ? document : {};
  const query = { dryRun: 'All', fieldValidation: 'Ignore' };
  const call = { method: 'POST', path: pathOf(resource), query, body };
  return await refusalOf(cluster.api.call(call));
}

function isObject(value: unknown): value is KubeObject {
  return typeof value === 'object' && value !== null;
}
