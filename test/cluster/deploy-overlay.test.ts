/** Overlays of a user's own over deploy/: a namespace for all objects changes nothing of Herald. Rendered by kubectl, no API server is asked. */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { ensureKubectl } from '../../tools/kubernetes/kubectl.ts';
import { field, text } from '../interop/routers/json.ts';
import { run } from '../support/process.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = ['base', 'overlays/simple', 'overlays/single-node', 'overlays/exclusive'];
const PAGE = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');

describe('an overlay with a namespace', function () {
  this.timeout(30 * 60_000);
  let folder: string;

  before(async function () {
    skipWithoutCluster(this);
    await ensureKubectl((sentence) => process.stderr.write(`kubernetes: ${sentence}\n`));
    folder = mkdtempSync(join(tmpdir(), 'herald-overlay-'));
    cpSync(join(ROOT, 'deploy'), join(folder, 'herald/deploy'), { recursive: true });
  });

  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  const render = async (kustomization: string): Promise<readonly unknown[]> => {
    const overlay = mkdtempSync(join(folder, 'overlay-'));
    writeFileSync(join(overlay, 'kustomization.yaml'), kustomization);
    const { stdout } = await run('kubectl', ['kustomize', overlay]);
    return loadAll(stdout);
  };

  const pageOverlay = (): string => {
    const blocks = [...PAGE.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
    const found = blocks.filter((block) => block.includes('namespace: herald-system\nresources:'));
    expect(found, 'overlays with a namespace in docs/kubernetes.md').to.have.lengthOf(1);
    return found[0] ?? '';
  };

  for (const name of FOLDERS) {
    it(`builds over deploy/${name}, and keeps the right to read kubelets' Leases where it is`, async () => {
      const whole = await render(`resources: [../herald/deploy/${name}]\n`);
      const overlay = pageOverlay().replace('../herald/deploy/base', `../herald/deploy/${name}`);
      const rendered = await render(overlay);
      expect(namesOf(rendered)).to.have.members(namesOf(whole));
      expect(rendered.map(inItsScope)).to.have.deep.members(whole.map(inItsScope));
      expect(namesOf(rendered)).to.include.members([
        'kube-node-lease Role herald-kubelet-leases',
        'kube-node-lease RoleBinding herald-kubelet-leases',
      ]);
    });

    it(`builds over deploy/${name} without more, as tools that set a namespace make it`, async () => {
      const overlay = `namespace: herald-system\nresources: [../herald/deploy/${name}]\n`;
      const rendered = namesOf(await render(overlay));
      expect(new Set(rendered).size).to.equal(rendered.length);
      // what the page says of it
      expect(rendered).to.include('herald-system Role herald-kubelet-leases');
    });
  }
});

/** kustomize takes kinds that it does not know for namespaced ones; API servers drop what it writes there (deploy.test.ts applies it) */
const OF_THE_CLUSTER =
  /^(FlowSchema|PriorityLevelConfiguration|IPPool|ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding)$/;

function inItsScope(object: unknown): unknown {
  const copy = structuredClone(object);
  const metadata = field(copy, 'metadata');
  const isDropped = OF_THE_CLUSTER.test(text(field(copy, 'kind')));
  if (isDropped && typeof metadata === 'object' && metadata !== null) {
    Reflect.deleteProperty(metadata, 'namespace');
  }
  return copy;
}

/** `namespace kind name` */
function namesOf(objects: readonly unknown[]): string[] {
  return objects.map(inItsScope).map((each) => {
    const namespace = text(field(each, 'metadata', 'namespace') ?? '-');
    return `${namespace} ${text(field(each, 'kind'))} ${text(field(each, 'metadata', 'name'))}`;
  });
}
