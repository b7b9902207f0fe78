/** Folders in place of the kernel's: which files are written, and with what. What a kernel makes of it shows in cluster.test.ts. */

import {
  existsSync,
  globSync,
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
import { hierarchies, makeGroups, removeGroups, takeBack } from '../../lab/cluster/cgroups.ts';
import { noteChanged, readChanged } from '../../lab/cluster/changed-controllers.ts';

describe('the control groups of a cluster', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'herald-cgroups-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const read = (...path: string[]) => readFileSync(join(root, ...path), 'utf8');
  const write = (text: string, ...path: string[]) => writeFileSync(join(root, ...path), text);

  it('are looked for in every hierarchy of version 1, or in the one of version 2', async () => {
    for (const name of ['cpu/lab/n1/pod', 'memory/lab'])
      mkdirSync(join(root, name), { recursive: true });
    expect(hierarchies(root)).to.have.members([join(root, 'cpu'), join(root, 'memory')]);
    await removeGroups('/lab', root);
    expect(globSync('**/lab', { cwd: root })).to.deep.equal([]);
    write('cpu memory\n', 'cgroup.controllers');
    expect(hierarchies(root)).to.deep.equal([root]);
  });

  it('of version 2 have what a kubelet needs and the parent lacks, and no other controller', () => {
    write('cpu cpuset io memory hugetlb pids rdma misc\n', 'cgroup.controllers');
    write('cpuset io memory hugetlb pids\n', 'cgroup.subtree_control');
    const changed = makeGroups('/herald-lab-x/n1', root);
    expect(changed).to.deep.equal([{ hierarchy: root, controller: 'cpu' }]);
    expect(read('cgroup.subtree_control')).to.equal('+cpu');
    takeBack(changed);
    expect(read('cgroup.subtree_control')).to.equal('-cpu');
  });

  it('of version 2 are made where a controller is refused', () => {
    write('cpu pids\n', 'cgroup.controllers');
    // it can be read, and takes no words
    symlinkSync('/proc/version', join(root, 'cgroup.subtree_control'));
    expect(makeGroups('/herald-lab-x/n1', root)).to.deep.equal([]);
    expect(existsSync(join(root, 'herald-lab-x/n1'))).to.equal(true);
    takeBack([{ hierarchy: root, controller: 'cpu' }]);
  });

  it('of version 1 change nothing outside, and have the processors of their parent', () => {
    mkdirSync(join(root, 'cpuset/herald-lab-x/n1'), { recursive: true });
    write('0-1\n', 'cpuset/cpuset.cpus');
    for (const group of ['herald-lab-x', 'herald-lab-x/n1'])
      write('', 'cpuset', group, 'cpuset.cpus');
    expect(makeGroups('/herald-lab-x/n1', root)).to.deep.equal([]);
    expect(read('cpuset/herald-lab-x/n1/cpuset.cpus')).to.equal('0-1\n');
  });

  it('are noted where whoever takes the cluster away finds it', () => {
    expect(readChanged(root)).to.deep.equal([]);
    noteChanged(root, []);
    expect(readChanged(root)).to.deep.equal([]);
    const changed = ['cpu', 'io'].map((controller) => ({ hierarchy: '/sys/x', controller }));
    noteChanged(root, changed.slice(0, 1));
    noteChanged(root, changed.slice(1));
    expect(readChanged(root)).to.deep.equal(changed);
  });
});
