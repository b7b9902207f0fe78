/**
 * What has to be done for a topology, as data: namespaces, links, containers, commands, each with its whole command line. Nothing
 * here touches the machine; up.ts does what the plan says.
 *
 * A "container" is a process with a mount, process and host-name namespace of its own in the network namespace of its node. It
 * has the capabilities that Docker would give it, so that what works here works there.
 */

import { join, resolve } from 'node:path';
import { boundingSet } from './capabilities.ts';
import { type Checkout, type Image, imageOf, programOf } from './images.ts';
import { LabRefusal } from './refusal.ts';
import type { Topology, TopologyNode } from './topology.ts';

export interface PlanOptions {
  /** Name of the lab: labs of different names can be up at the same time. */
  readonly name: string;
  /** The folder of the topology file; `binds` are relative to it. */
  readonly folder: string;
  readonly checkout: Checkout;
  /** Nodes of which only the network is made: no container, and of `exec` only what sets up the network. */
  readonly withoutPrograms?: ReadonlySet<string>;
}

export interface Plan {
  readonly namespaces: readonly PlannedNamespace[];
  readonly links: readonly PlannedLink[];
  readonly containers: readonly PlannedContainer[];
  readonly commands: readonly PlannedCommand[];
}

export interface PlannedNamespace {
  readonly node: string;
  readonly namespace: string;
  /** `name=value` */
  readonly sysctls: readonly string[];
}

export interface PlannedLink {
  readonly a: { readonly namespace: string; readonly interface: string };
  readonly b: { readonly namespace: string; readonly interface: string };
}

export interface PlannedContainer {
  readonly node: string;
  readonly namespace: string;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Files that must be there before it starts. */
  readonly needs: readonly { readonly file: string; readonly remedy: string }[];
}

export interface PlannedCommand {
  readonly node: string;
  readonly namespace: string;
  readonly argv: readonly string[];
  /** Where it runs: in the node's container, or, where that is not started, only in its network. */
  readonly inContainer: boolean;
  /** Whether it sets up the network; the others are programs. */
  readonly isForNetwork: boolean;
}

const debianPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const labName = /^[a-z0-9][a-z0-9-]{0,30}$/;

/** Names of namespaces of a lab begin like this and nobody else's do: a lab's name has no dot. */
export const namespacePrefix = (lab: string) => `lab.${lab}.`;
export const namespacePath = (namespace: string) => join('/run/netns', namespace);

const networkPrograms = new Set(['ip', 'bridge', 'sysctl']);

/** Where a bind may go to: folders that a container can have for itself without hiding what Debian needs. */
const privateFolders = ['/etc', '/opt', '/run', '/srv', '/var'];

export function plan(topology: Topology, options: PlanOptions): Plan {
  const { name, withoutPrograms = new Set<string>() } = options;
  if (!labName.test(name)) {
    throw new LabRefusal(`a lab's name is lower-case letters, digits and hyphens, not ${name}`);
  }
  const namespaceOf = (node: string) => `${namespacePrefix(name)}${node}`;
  const namespaceOfNode = (node: TopologyNode) => namespaceOf(node.networkOf ?? node.name);
  for (const node of withoutPrograms) {
    if (topology.nodes.some((each) => each.name === node)) continue;
    throw new LabRefusal(`there is no node ${node} to start without its programs`);
  }
  const withPrograms = topology.nodes.filter((node) => !withoutPrograms.has(node.name));
  return {
    namespaces: topology.nodes
      .filter((node) => node.networkOf === undefined)
      .map((node) => ({
        node: node.name,
        namespace: namespaceOf(node.name),
        sysctls: Object.entries(node.sysctls).map(([key, value]) => `${key}=${value}`),
      })),
    links: topology.links.map(({ a, b }) => ({
      a: { namespace: namespaceOf(a.node), interface: a.interface },
      b: { namespace: namespaceOf(b.node), interface: b.interface },
    })),
    containers: withPrograms.map((node) => container(node, namespaceOfNode(node), options)),
    commands: topology.nodes.flatMap((node) => {
      const inContainer = !withoutPrograms.has(node.name);
      const namespace = namespaceOfNode(node);
      return node.exec
        .map((argv) => ({
          ...{ node: node.name, namespace, inContainer },
          argv: inContainer ? confined(node, argv) : argv,
          isForNetwork: networkPrograms.has(argv[0] ?? ''),
        }))
        .filter(({ isForNetwork }) => inContainer || isForNetwork);
    }),
  };
}

function container(node: TopologyNode, namespace: string, options: PlanOptions): PlannedContainer {
  const { folder, checkout } = options;
  const image = imageOf(node, checkout);
  const program = programOf(node, image);
  const binds = node.binds.map(({ source, target, isReadOnly }) => {
    if (!privateFolders.some((each) => target.startsWith(`${each}/`))) {
      throw new LabRefusal(
        `topology.nodes.${node.name}.binds: ${target} is not below ${privateFolders.join(', ')}`,
      );
    }
    return [isReadOnly ? 'ro' : 'rw', resolve(folder, source), target];
  });
  return {
    node: node.name,
    namespace,
    argv: [
      ...['nsenter', `--net=${namespacePath(namespace)}`, '--'],
      ...['unshare', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--'],
      ...['/bin/sh', join(checkout.root, 'lab/runner/container.sh'), node.networkOf ?? node.name],
      ...[...binds.flat(), '--', ...confined(node, program)],
    ],
    environment: { PATH: searchPath(image), ...node.environment },
    needs: [
      ...image.needs,
      ...binds.map(([, file = '']) => ({ file, remedy: 'the topology names it' })),
    ],
  };
}

const searchPath = ({ programs }: Image) =>
  [...(programs === undefined ? [] : [programs]), debianPath].join(':');

/** With no more capabilities than its container would have. */
function confined(node: TopologyNode, argv: readonly string[]): string[] {
  if (node.isPrivileged) return [...argv];
  const set = boundingSet(node.addedCapabilities);
  return ['setpriv', `--bounding-set=${set}`, '--', ...argv];
}
