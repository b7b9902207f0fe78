/**
 * A containerlab file as the runner understands it. Everything that containerlab would act upon is either understood or refused,
 * with the path of the field: a lab that silently lacks a part proves nothing.
 *
 * Understood is what network namespaces can do: `kind: linux`; networks of their own (`network-mode: none`) or another node's
 * (`container:NODE`); links between nodes. `defaults` may hold single values and maps, no lists.
 */

import { load } from 'js-yaml';
import { type Environment, expandVariables } from './expand.ts';
import { Reader } from './reader.ts';
import { LabRefusal } from './refusal.ts';
import { splitWords } from './words.ts';

export interface Bind {
  /** as written: relative to the folder of the file */
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

export interface TopologyNode {
  readonly name: string;
  readonly image: string;
  /** the node whose network this one is in; absent: its own */
  readonly networkOf?: string;
  readonly isPrivileged: boolean;
  readonly addedCapabilities: readonly string[];
  readonly sysctls: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly binds: readonly Bind[];
  readonly entrypoint?: readonly string[];
  readonly command: readonly string[];
  readonly exec: readonly (readonly string[])[];
}

export interface Endpoint {
  readonly node: string;
  readonly interface: string;
}

export interface Topology {
  readonly name: string;
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly { readonly a: Endpoint; readonly b: Endpoint }[];
}

const nodeFields = [
  ...[
    'kind',
    'image',
    'network-mode',
    'privileged',
    'restart-policy',
    'user',
    'cap-add',
    'sysctls',
  ],
  ...['env', 'binds', 'entrypoint', 'cmd', 'exec'],
];
const defaultFields = [
  'kind',
  'image',
  'network-mode',
  'privileged',
  'restart-policy',
  'user',
  'sysctls',
  'env',
];
const nodeName = /^[a-z0-9][a-z0-9-]{0,30}$/;
/** Of a network namespace. All others are one for the whole machine: set here, they would stay. No slash: two of them lead out of the folder. */
const networkSetting = /^net(\.[\w-]+)+$/;
/** As the kernel takes them, without what a path or a shell would mind. */
const interfaceName = /^[A-Za-z0-9][\w.-]{0,14}$/;

export function parseTopology(text: string, environment: Environment): Topology {
  const root = new Reader('', parseYaml(expandVariables(text, environment)));
  root.allow(['name', 'mgmt', 'topology']);
  // containerlab's management network: no node of ours can be in it, so there is nothing to make
  root.optional('mgmt')?.allow(['network', 'ipv4-subnet', 'external-access']);
  const name = root.text('name');
  if (!nodeName.test(name)) root.refuse('name', 'must be lower-case letters, digits and hyphens');
  const topology = root.child('topology');
  topology.allow(['defaults', 'nodes', 'links']);
  const defaults = topology.optional('defaults') ?? new Reader('topology.defaults', {});
  defaults.allow(defaultFields);
  const nodes = topology
    .child('nodes')
    .entries()
    .map((node) => parseNode(node, defaults));
  if (nodes.length === 0) topology.refuse('nodes', 'must name a node');
  const byName = new Map(nodes.map((node) => [node.name, node]));
  for (const node of nodes) checkSharing(node, byName);
  const links = topology.list('links').map((link) => parseLink(link, byName));
  checkOnce(links);
  return { name, nodes, links };
}

function parseYaml(text: string): unknown {
  try {
    return load(text);
  } catch (error) {
    throw new LabRefusal(`not YAML: ${error instanceof Error ? error.message : error}`);
  }
}

function parseNode(node: Reader, defaults: Reader): TopologyNode {
  node.allow(nodeFields);
  const name = node.name();
  if (!nodeName.test(name))
    node.refuse('', 'its name must be lower-case letters, digits and hyphens');
  const scalar = (field: string) => node.optionalText(field) ?? defaults.optionalText(field);
  only(node, 'kind', scalar('kind'), ['linux']);
  only(node, 'restart-policy', scalar('restart-policy'), ['no']);
  // a process that is not root would have none of its capabilities
  only(node, 'user', scalar('user') ?? '0', ['0', 'root', '0:0']);
  const image = scalar('image');
  if (image === undefined) return node.refuse('image', 'is needed');
  const mode = scalar('network-mode');
  const networkOf = /^container:(\S+)$/.exec(mode ?? '')?.[1];
  if (networkOf === undefined) only(node, 'network-mode', mode, ['none']);
  const entrypoint = node.optionalText('entrypoint');
  return {
    name,
    image,
    ...(networkOf === undefined ? {} : { networkOf }),
    // containerlab's own default is privileged
    isPrivileged: node.optionalFlag('privileged') ?? defaults.optionalFlag('privileged') ?? true,
    addedCapabilities: node.texts('cap-add').map((each) => each.replace(/^CAP_/, '')),
    sysctls: { ...parseSysctls(defaults), ...parseSysctls(node) },
    environment: { ...defaults.textMap('env'), ...node.textMap('env') },
    binds: node.texts('binds').map((bind) => parseBind(node, bind)),
    ...(entrypoint === undefined ? {} : { entrypoint: splitWords(entrypoint) }),
    command: splitWords(node.optionalText('cmd') ?? ''),
    exec: node.texts('exec').map(splitWords),
  };
}

function only(
  node: Reader,
  field: string,
  value: string | undefined,
  known: readonly string[],
): void {
  if (value !== undefined && known.includes(value)) return;
  const is = value === undefined ? 'is not set' : `is ${value}`;
  node.refuse(field, `${is}; network namespaces can be ${known.join(' or ')} only`);
}

function parseSysctls(of: Reader): Record<string, string> {
  const settings = of.textMap('sysctls');
  const foreign = Object.keys(settings).find((key) => !networkSetting.test(key));
  if (foreign === undefined) return settings;
  return of.refuse(
    'sysctls',
    `${foreign} is not a setting of a network namespace (net.…), and would be set on this machine`,
  );
}

function parseBind(node: Reader, text: string): Bind {
  const [source = '', target = '', option = 'rw', ...more] = text.split(':');
  const isUnderstood = source !== '' && target.startsWith('/') && more.length === 0;
  if (!isUnderstood || !['ro', 'rw'].includes(option) || /^~|__clab/.test(source)) {
    node.refuse('binds', `${text} is not understood; SOURCE:/TARGET, with :ro or without, is`);
  }
  return { source, target, isReadOnly: option === 'ro' };
}

function checkSharing(node: TopologyNode, nodes: ReadonlyMap<string, TopologyNode>): void {
  if (node.networkOf === undefined) return;
  const other = nodes.get(node.networkOf);
  const at = `topology.nodes.${node.name}`;
  if (other === undefined)
    throw new LabRefusal(`${at}.network-mode: there is no node ${node.networkOf}`);
  if (other.networkOf !== undefined) {
    throw new LabRefusal(`${at}.network-mode: ${other.name} has no network of its own`);
  }
  // they would be set twice, the second time unseen
  if (Object.keys(node.sysctls).length > 0) {
    throw new LabRefusal(`${at}.sysctls: belong to ${other.name}, whose network it is`);
  }
}

function parseLink(
  link: Reader,
  nodes: ReadonlyMap<string, TopologyNode>,
): Topology['links'][number] {
  link.allow(['endpoints']);
  const ends = link.texts('endpoints').map((text): Endpoint => {
    const [node = '', device = '', ...more] = text.split(':');
    const owner = nodes.get(node);
    if (owner === undefined) link.refuse('endpoints', `${text}: there is no node ${node}`);
    else if (owner.networkOf !== undefined) {
      link.refuse('endpoints', `${text}: ${node} has no network of its own`);
    }
    // containerlab keeps eth0 for its management network
    if (!interfaceName.test(device) || more.length > 0 || device === 'lo' || device === 'eth0') {
      link.refuse(
        'endpoints',
        `${text} is not NODE:INTERFACE with an interface other than lo and eth0`,
      );
    }
    return { node, interface: device };
  });
  const [a, b] = ends;
  if (a === undefined || b === undefined || ends.length !== 2) {
    return link.refuse('endpoints', 'must be two');
  }
  return { a, b };
}

function checkOnce(links: Topology['links']): void {
  const seen = new Set<string>();
  for (const end of links.flatMap(({ a, b }) => [a, b])) {
    const text = `${end.node}:${end.interface}`;
    if (seen.has(text)) throw new LabRefusal(`topology.links: ${text} is used twice`);
    seen.add(text);
  }
}
