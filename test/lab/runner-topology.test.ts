import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { expandVariables } from '../../lab/runner/expand.ts';
import { labTopology } from '../../lab/runner/read.ts';
import { parseTopology } from '../../lab/runner/topology.ts';
import { splitWords } from '../../lab/runner/words.ts';

const root = join(import.meta.dirname, '../..');
const file = readFileSync(labTopology.path, 'utf8');

/** A small file that is understood; `change` is a line of it and what stands in its place. */
const small = `name: two
topology:
  defaults:
    kind: linux
    privileged: false
    network-mode: none
    restart-policy: "no"
    env: {A: "1", B: "1"}
  nodes:
    a:
      image: herald-lab/router:local
      env: {B: "2"}
      sysctls: {net.ipv4.ip_forward: 1}
    b:
      image: herald-lab/router:local
      cap-add: [CAP_NET_ADMIN]
      exec:
        - ip address add 10.0.0.1/24 dev eth1
        - sh -c 'echo "a  b" > /run/x'
    c:
      image: herald:1
      network-mode: container:b
      binds: ["configs/c:/etc/herald:ro"]
      cmd: agent --node-name b
  links:
    - endpoints: ["a:eth1", "b:eth1"]
`;

const changed = (line: string, instead: string) => {
  expect(small).to.include(line);
  return small.replace(line, instead);
};

describe('the topology file, as the runner reads it', () => {
  it('knows the nodes, networks and links of the lab', () => {
    const { name, nodes, links } = parseTopology(file, {});
    expect(name).to.equal(labTopology.name);
    expect(
      nodes.filter(({ networkOf }) => networkOf === undefined).map((node) => node.name),
    ).to.deep.equal(['client', 'spine', 'tor1', 'n1', 'n2', 'tor2', 'n3']);
    const agents = nodes.filter(({ networkOf }) => networkOf !== undefined);
    expect(agents.map((node) => `${node.name} in ${node.networkOf}`)).to.deep.equal([
      'n1-herald in n1',
      'n2-herald in n2',
      'n3-herald in n3',
    ]);
    expect(links).to.have.length(6);
    expect(nodes.filter(({ isPrivileged }) => isPrivileged)).to.deep.equal([]);
    expect(agents.map(({ addedCapabilities }) => addedCapabilities)).to.deep.equal([
      ['NET_ADMIN'],
      ['NET_ADMIN'],
      ['NET_ADMIN'],
    ]);
  });

  it('names the image of this version, and any image by a variable', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const imageOf = (environment: Record<string, string>) =>
      parseTopology(file, environment).nodes.find(({ name }) => name === 'n1-herald')?.image;
    expect(imageOf({})).to.equal(`herald:${version}`);
    expect(imageOf({ HERALD_IMAGE: '' })).to.equal(`herald:${version}`);
    expect(imageOf({ HERALD_IMAGE: 'example.com/herald:9' })).to.equal('example.com/herald:9');
  });

  it('merges defaults as containerlab does', () => {
    const [a, b, c] = parseTopology(small, {}).nodes;
    expect(a).to.deep.include({ environment: { A: '1', B: '2' }, isPrivileged: false });
    expect(a?.sysctls).to.deep.equal({ 'net.ipv4.ip_forward': '1' });
    expect(b?.addedCapabilities).to.deep.equal(['NET_ADMIN']);
    expect(b?.exec[1]).to.deep.equal(['sh', '-c', 'echo "a  b" > /run/x']);
    expect(c).to.deep.include({ networkOf: 'b', command: ['agent', '--node-name', 'b'] });
    expect(c?.binds).to.deep.equal([
      { source: 'configs/c', target: '/etc/herald', isReadOnly: true },
    ]);
  });

  it('takes a node that does not say otherwise for privileged, as containerlab does', () => {
    const [a] = parseTopology(changed('    privileged: false\n', ''), {}).nodes;
    expect(a?.isPrivileged).to.equal(true);
  });

  const refusals: readonly (readonly [what: string, text: string, sentence: RegExp])[] = [
    ['a field of the file', `prefix: x\n${small}`, /^prefix: not understood; known here: name/],
    [
      'a field of the topology',
      changed('  links:', '  kinds: {}\n  links:'),
      /^topology\.kinds: not understood/,
    ],
    [
      'a field of a node',
      changed('env: {B: "2"}', 'startup-delay: 3'),
      /^topology\.nodes\.a\.startup-delay: not understood/,
    ],
    [
      'a list in defaults',
      changed('    kind: linux', '    kind: linux\n    exec: [ls]'),
      /^topology\.defaults\.exec: not understood/,
    ],
    [
      'a field of a link',
      changed('- endpoints', '- mtu: 9000\n      endpoints'),
      /^topology\.links\[0\]\.mtu: not understood/,
    ],
    [
      'another kind',
      changed('kind: linux', 'kind: nokia_srlinux'),
      /^topology\.nodes\.a\.kind: is nokia_srlinux;/,
    ],
    [
      'the management network',
      changed('network-mode: none', 'network-mode: bridge'),
      /^topology\.nodes\.a\.network-mode: is bridge/,
    ],
    [
      'a restart',
      changed('restart-policy: "no"', 'restart-policy: always'),
      /restart-policy: is always/,
    ],
    [
      'a restart that nobody ruled out',
      changed('    restart-policy: "no"\n', ''),
      /restart-policy: is not set/,
    ],
    [
      'another user',
      changed('cmd: agent', 'user: "65532"\n      cmd: agent'),
      /^topology\.nodes\.c\.user: is 65532/,
    ],
    [
      'a network of no node',
      changed('container:b', 'container:x'),
      /^topology\.nodes\.c\.network-mode: there is no node x/,
    ],
    [
      'a chain of networks',
      changed('env: {B: "2"}', 'network-mode: container:c'),
      /c has no network of its own/,
    ],
    [
      'sysctls in a shared network',
      changed('cmd: agent', 'sysctls: {net.ipv4.ip_forward: 1}\n      cmd: agent'),
      /^topology\.nodes\.c\.sysctls: belong to b/,
    ],
    [
      'a link to no node',
      changed('"a:eth1"', '"x:eth1"'),
      /^topology\.links\[0\]\.endpoints: x:eth1: there is no node x/,
    ],
    ['a link to a shared network', changed('"a:eth1"', '"c:eth1"'), /c has no network of its own/],
    ['a link with one end', changed('["a:eth1", "b:eth1"]', '["a:eth1"]'), /must be two/],
    ['eth0', changed('"a:eth1"', '"a:eth0"'), /other than lo and eth0/],
    [
      'an interface used twice',
      changed('["a:eth1", "b:eth1"]', '["a:eth1", "a:eth1"]'),
      /a:eth1 is used twice/,
    ],
    [
      'an option of a bind',
      changed(':ro"', ':ro,z"'),
      /^topology\.nodes\.c\.binds: configs\/c:\/etc\/herald:ro,z is not understood/,
    ],
    [
      'a magic variable in a bind',
      changed('"configs/c:', '"__clabNodeDir__/c:'),
      /is not understood/,
    ],
    [
      'a word for a number',
      changed('{net.ipv4.ip_forward: 1}', '{net.ipv4.ip_forward: [1]}'),
      /sysctls\.net\.ipv4\.ip_forward: must be text or a number/,
    ],
    [
      'a setting of the whole machine',
      changed('{net.ipv4.ip_forward: 1}', '{kernel.panic: 1}'),
      /^topology\.nodes\.a\.sysctls: kernel\.panic is not a setting of a network namespace/,
    ],
    [
      'a setting of the whole machine by a detour',
      changed('{net.ipv4.ip_forward: 1}', '{net/../kernel/panic: 1}'),
      /^topology\.nodes\.a\.sysctls: net\/\.\.\/kernel/,
    ],
    [
      'a setting of the whole machine by two slashes, which stand for dots',
      changed('{net.ipv4.ip_forward: 1}', '{net.//.kernel.panic: 1}'),
      /^topology\.nodes\.a\.sysctls: net\.\/\//,
    ],
    [
      'a setting of the whole machine for all nodes',
      changed('    kind: linux', '    kind: linux\n    sysctls: {vm.swappiness: 1}'),
      /^topology\.defaults\.sysctls: vm\.swappiness is not/,
    ],
    ['text for a flag', changed('privileged: false', 'privileged: maybe'), /must be true or false/],
    ['no image', changed('      image: herald:1\n', ''), /^topology\.nodes\.c\.image: is needed/],
    ['a Go template', changed('name: two', 'name: {{ .x }}'), /^line 1: Go templates/],
    ['what is not YAML', `${small}  - [`, /^not YAML:/],
    [
      'an unset variable',
      changed('image: herald:1', `image: \${X}`),
      /^line \d+: the variable X is not set/,
    ],
    ['a variable of another form', changed('image: herald:1', 'image: $X'), /^line 21: only/],
  ];
  for (const [what, text, sentence] of refusals) {
    it(`refuses ${what}, and says where`, () => {
      expect(() => parseTopology(text, {})).to.throw(sentence);
    });
  }
});

describe('variables of a topology file', () => {
  it('are filled in as containerlab does', () => {
    const text = `\${A} \${A:=x} \${B:=y} \${C:-z:1} $$A`;
    expect(expandVariables(text, { A: 'a', C: '' })).to.equal('a a y z:1 $A');
  });
});

describe('a command line of a topology file', () => {
  it('is split into words without a shell', () => {
    expect(splitWords(`  a 'b  c' "d \\"e\\"" f\\ g ''  h"i"'j' `)).to.deep.equal([
      ...['a', 'b  c', 'd "e"', 'f g', '', 'hij'],
    ]);
    expect(() => splitWords("a 'b")).to.throw('has no end');
  });
});
