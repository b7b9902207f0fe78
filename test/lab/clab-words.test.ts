import { expect } from 'chai';
import { differences } from '../../lab/clab/machine.ts';
import { containersOf, troubles, withoutLab } from '../../lab/clab/words.ts';

describe('what containerlab says', () => {
  const log = `18:12:29 INFO Executed command node=two command="ip address add 10.9.0.2/30 dev eth1" stdout=""
18:12:29 ERRO Failed to execute command command="ip address add nonsense dev eth1" node=one rc=1 stdout=""
  stderr=
  │ Error: any valid prefix is expected rather than "nonsense".

18:12:29 WARN errors during iptables rules install: no chain
18:12:29 INFO Adding host entries path=/etc/hosts`;

  it('has a failed command among its troubles, with its words, and no warning', () => {
    const [first, ...others] = troubles(log);
    expect(others).to.deep.equal([]);
    expect(first).to.match(/^Failed to execute command .*nonsense.* any valid prefix/);
  });

  it('is no trouble where every command went well', () => {
    expect(troubles(log.split('\n')[0] ?? '')).to.deep.equal([]);
    expect(troubles('')).to.deep.equal([]);
  });
});

describe('/etc/hosts without a lab', () => {
  const block = (name: string) =>
    `###### CLAB-${name}-START ######\n10.0.0.1 clab-${name}-n1\n###### CLAB-${name}-END ######\n`;

  it('has all other lines, those of other labs too', () => {
    const hosts = `127.0.0.1 localhost\n${block('herald')}${block('other')}`;
    expect(withoutLab(hosts, 'herald')).to.equal(`127.0.0.1 localhost\n${block('other')}`);
  });

  it('is as it was where there is none of it, or half of it', () => {
    for (const hosts of ['', '127.0.0.1 localhost\n', '###### CLAB-herald-START ######\n::1 a\n'])
      expect(withoutLab(hosts, 'herald')).to.equal(hosts);
  });
});

describe('what docker inspect says of a container', () => {
  const inspected = (host: object) =>
    JSON.stringify([{ Id: 'f00', Name: '/clab-x-n1', HostConfig: host, State: { Running: true } }]);

  it('is its name, whether it runs, whether it is privileged, what it may', () => {
    const text = inspected({ Privileged: true, CapAdd: ['CAP_NET_ADMIN', 'SYS_ADMIN'] });
    expect(containersOf(text)).to.deep.equal([
      {
        id: 'f00',
        name: 'clab-x-n1',
        isPrivileged: true,
        isRunning: true,
        addedCapabilities: ['NET_ADMIN', 'SYS_ADMIN'],
      },
    ]);
    expect(containersOf(inspected({ Privileged: false, CapAdd: null }))).to.deep.include({
      id: 'f00',
      name: 'clab-x-n1',
      isPrivileged: false,
      isRunning: true,
      addedCapabilities: [],
    });
  });

  it('is refused where it does not say whether it is privileged', () => {
    expect(() => containersOf(inspected({}))).to.throw(/does not say whether/);
  });
});

describe('a machine before and after', () => {
  const before = new Map([['interface', ['lo', 'eth0']]]);

  it('is the same when nothing is new and nothing is lost, in any order', () => {
    expect(differences(before, new Map([['interface', ['eth0', 'lo']]]))).to.deep.equal([]);
  });

  it('differs by what is new and by what is lost', () => {
    const after = new Map([
      ['interface', ['lo', 'br-1']],
      ['namespace', ['clab-x-n1']],
    ]);
    expect(differences(before, after)).to.deep.equal([
      'new interface: br-1',
      'lost interface: eth0',
      'new namespace: clab-x-n1',
    ]);
  });
});
