import { expect } from 'chai';
import {
  enterMachine,
  folderOfFirstProcess,
  isStarterOn,
  startFirstProcess,
} from '../../lab/cluster/first-process.ts';
import { machineScript } from '../../lab/cluster/machine.ts';

const FOLDER = '/tmp/herald-lab-cluster/n1';
const PROGRAM = '/root/.cache/herald/lab/pod-0123456789abcdef';
const ARGV = startFirstProcess({
  netns: 'lab.cluster.n1',
  script: machineScript({ name: 'n1', folder: FOLDER }),
  program: PROGRAM,
  folder: FOLDER,
});

describe('the first process of a machine', () => {
  it('is known from its start to what stays', () => {
    const steps = [
      ARGV,
      ARGV.slice(ARGV.indexOf('unshare')),
      ARGV.slice(ARGV.indexOf('sh')),
      [PROGRAM, 'pause', FOLDER],
    ];
    for (const argv of steps) expect(folderOfFirstProcess(argv), argv[0]).to.equal(FOLDER);
  });

  const others: readonly (readonly string[])[] = [
    ['tail', '-f', `${FOLDER}/kubelet.log`],
    ['tail', '-f', FOLDER],
    ['sh', '-c', 'ls "$1"', PROGRAM, FOLDER],
    ['sh', '-c', 'ls', FOLDER],
    ['pod', 'pause', FOLDER],
    [PROGRAM, 'web', FOLDER],
    ['less', 'pause', FOLDER],
    [PROGRAM, 'pause'],
    ['nsenter', '--net=/run/netns/x', 'ls', FOLDER],
    [FOLDER],
    [],
  ];
  for (const argv of others) {
    it(`is not taken for \`${argv.join(' ')}\``, () => {
      expect(folderOfFirstProcess(argv)).to.equal(undefined);
    });
  }

  it('is what programs on its machine are started by, and not those of another', () => {
    const argv = [...enterMachine(12), 'kubelet', '--config=/x'];
    expect(isStarterOn(12, argv)).to.equal(true);
    expect(isStarterOn(1, argv)).to.equal(false);
    expect(isStarterOn(12, ['nsenter', '-t', '12', '--net', 'ls'])).to.equal(false);
  });
});
