import { expect } from 'chai';
import { dockerdArgs, whyItFailed } from '../../lab/docker/dockerd.ts';

describe('how dockerd is called', () => {
  it('keeps all that it has in one folder and one cgroup', () => {
    const args = dockerdArgs('/tmp/x', 'x', 'vfs');
    const paths = args.filter((each) => each.includes('/tmp/'));
    expect(paths).to.deep.equal([
      '--data-root=/tmp/x/data',
      '--exec-root=/tmp/x/exec',
      '--pidfile=/tmp/x/pid',
      '--host=unix:///tmp/x/docker.sock',
    ]);
    expect(args).to.include.members(['--cgroup-parent=/x', '--storage-driver=vfs']);
  });

  it('changes neither firewall nor interfaces', () => {
    expect(dockerdArgs('/tmp/x', 'x', 'overlay2')).to.include.members([
      '--iptables=false',
      '--ip6tables=false',
      '--bridge=none',
      '--ip-forward=false',
    ]);
  });
});

describe('why dockerd failed', () => {
  it('is what it said last outside of its log', () => {
    const log = 'time="2026" level=warning msg="a"\nfailed to start daemon: no overlay\n';
    expect(whyItFailed(log)).to.equal('failed to start daemon: no overlay');
  });

  it('is the last error of its log, without its dress', () => {
    const log =
      'time="2026" level=error msg="no \\"x\\" here"\ntime="2026" level=warning msg="bye"\n';
    expect(whyItFailed(log)).to.equal('no \\"x\\" here');
  });

  it('is said to be nothing where there is nothing', () => {
    expect(whyItFailed('\n')).to.equal('it said nothing');
  });
});
