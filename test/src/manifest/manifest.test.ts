import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { manifestCommand } from '../../../src/cli/manifest.ts';
import { block } from '../../../src/manifest/yaml-text.ts';
import {
  claimDocument,
  documentsFolder,
  peerDocument,
  poolDocument,
  runManifest,
} from '../../support/manifest-run.ts';

const tor = { address: '10.0.0.1', asn: 64500, localASN: 64512, families: ['ipv4', 'ipv6'] };
const vips = { addresses: ['192.0.2.8-192.0.2.20', '2001:db8:1::/120'] };
const password = 'n0t-guessed';
const joinArguments = [
  '--join-check',
  'https://127.0.0.1:6443/readyz',
  '--join-ca',
  '/etc/kubernetes/pki/ca.crt',
];

const plain = () =>
  documentsFolder({ 'net.yaml': peerDocument('tor', tor) + poolDocument('vips', vips) });
const withPassword = () =>
  documentsFolder({
    'net.yaml':
      peerDocument('tor', { ...tor, password: { file: '/etc/herald/bgp.key' } }) +
      poolDocument('vips', vips),
    'bgp.key': `${password}\n`,
  });
const routerArguments = (folder: string, kind = 'frr') => [
  'router',
  '--for',
  kind,
  '--source',
  `files:${folder}`,
];

/** what YAML says at a path */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined,
    value,
  );
}

describe('herald manifest', () => {
  it('help: no line is wider than 100 columns, and it says how it exits', () => {
    const { help, summary } = manifestCommand;
    expect(help.split('\n').filter((line) => line.length > 100)).to.deep.equal([]);
    expect(summary.length).to.be.below(88);
    expect(help).to.include('Exit status: 0').and.include('\nExamples\n');
  });

  it('says what there is', async () => {
    expect(await runManifest('docker')).to.include({ status: 2 });
    expect((await runManifest()).stderr).to.include('systemd, cloud-init, static-pod, router');
  });

  it('refuses documents with faults, each with file and line, and prints nothing', async () => {
    const folder = documentsFolder({
      'bad.yaml': peerDocument('tor', { ...tor, asn: 0 }) + poolDocument('vips', vips),
    });
    const { status, stdout, stderr } = await runManifest(
      ...routerArguments(folder),
      '--neighbor',
      '10.0.0.11',
    );
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    expect(stderr).to.match(/bad\.yaml:\d+: /);
  });

  it('writes a file that only its owner can read', async () => {
    const folder = plain();
    const out = join(folder, 'frr.conf');
    const run = await runManifest(
      ...routerArguments(folder),
      '--neighbor',
      '10.0.0.11',
      '--out',
      out,
    );
    expect(run).to.deep.equal({ status: 0, stdout: '', stderr: '' });
    expect(statSync(out).mode & 0o777).to.equal(0o600);
    expect(readFileSync(out, 'utf8')).to.include('router bgp 64500');
  });
});

describe('herald manifest router', () => {
  for (const [router, words] of [
    ['frr', / neighbor \S+ capability extended-nexthop\n/],
    ['bird', /\n {2}ipv4 \{\n {4}extended next hop on;/],
    ['gobgp', /extendedNextHop \(RFC 8950\), which manifest router writes for frr and bird only/],
    ['openbgpd', /writes for frr and bird only/],
  ] as const) {
    it(`extendedNextHop for ${router}`, async () => {
      const spec = { ...tor, address: '2001:db8::1', extendedNextHop: true };
      const folder = documentsFolder({
        'net.yaml': peerDocument('tor', spec) + poolDocument('vips', vips),
      });
      const args = ['--neighbor', '2001:db8::11', '--router-id', '10.0.0.1'];
      const command = ['router', '--for', router, '--source', `files:${folder}`, ...args];
      const { stdout, stderr } = await runManifest(...command);
      expect(stdout + stderr).to.match(words);
    });
  }

  const refusals: readonly (readonly [string, () => string, readonly string[], RegExp])[] = [
    [
      'a range without a password',
      plain,
      ['--neighbor-range', '10.0.0.0/24'],
      /pod behind the NAT.*--insecure/,
    ],
    ['no neighbours', plain, [], /--neighbor ADDRESS/],
    ['a neighbour of the other family', plain, ['--neighbor', '2001:db8::11'], /one is IPv4/],
    [
      'a router AS number that is not the document’s',
      plain,
      ['--neighbor', '10.0.0.11', '--router-asn', '64501'],
      /64500, not 64501/,
    ],
    [
      'an unknown peer',
      plain,
      ['--peer', 'spine', '--neighbor', '10.0.0.11'],
      /no BGPPeer 'spine'; the documents have: tor/,
    ],
    [
      'a range with bits behind its length',
      withPassword,
      ['--neighbor-range', '10.0.0.1/24'],
      /no bits behind/,
    ],
    ['a name that would need quotes', plain, ['--neighbor', '10.0.0.11=a"b'], /may have letters/],
  ];
  for (const [what, folder, args, sentence] of refusals) {
    it(`refuses ${what}`, async () => {
      const { status, stdout, stderr } = await runManifest(...routerArguments(folder()), ...args);
      expect({ status, stdout }).to.deep.equal({ status: 2, stdout: '' });
      expect(stderr).to.match(sentence);
    });
  }

  for (const kind of ['gobgp', 'openbgpd'] as const) {
    it(`refuses a range for ${kind} even with a password, since it is not checked there`, async () => {
      const args = [...routerArguments(withPassword(), kind), '--neighbor-range', '10.0.0.0/24'];
      const refused = await runManifest(...args);
      expect(refused.status).to.equal(2);
      expect(refused.stderr).to.match(/does not check the password/);
      const insisted = await runManifest(...args, '--insecure');
      expect(insisted.status).to.equal(0);
      expect(insisted.stderr).to.match(/GoBGP before 3\.21|OpenBGPD on Linux/);
    });
  }

  it('names the peers when there are several', async () => {
    const folder = documentsFolder({
      'net.yaml':
        peerDocument('tor-b', { ...tor, address: '10.0.0.2' }) +
        peerDocument('tor-a', tor) +
        poolDocument('vips', vips),
    });
    const { status, stderr } = await runManifest(
      ...routerArguments(folder),
      '--neighbor',
      '10.0.0.11',
    );
    expect(status).to.equal(2);
    expect(stderr).to.include('--peer').and.include('tor-a, tor-b');
  });

  it('puts the password into the file and says so, or a placeholder', async () => {
    const args = [...routerArguments(withPassword()), '--neighbor-range', '10.0.0.0/24'];
    const real = await runManifest(...args);
    expect(real.stdout).to.include(`neighbor herald-tor password ${password}\n`);
    expect(real.stderr).to.match(/holds a TCP-MD5 key/);
    const placeholder = await runManifest(...args, '--password-placeholder');
    expect(placeholder.stdout).to.include('password HERALD-PASSWORD\n').and.not.include(password);
    expect(placeholder.stderr).to.equal('');
  });

  it('says where it looked for a password that is not there', async () => {
    const folder = documentsFolder({
      'net.yaml':
        peerDocument('tor', { ...tor, password: { file: '/etc/herald/absent.key' } }) +
        poolDocument('vips', vips),
    });
    const { status, stderr } = await runManifest(
      ...routerArguments(folder),
      '--neighbor',
      '10.0.0.11',
    );
    expect(status).to.equal(1);
    expect(stderr).to.include('/etc/herald/absent.key').and.include(folder);
  });

  it('frr: says that zebra shall keep groups of next hops out of the kernel', async () => {
    const { stdout } = await runManifest(
      ...routerArguments(plain()),
      ...['--neighbor', '10.0.0.11'],
    );
    expect(stdout).to.match(/^no zebra nexthop kernel enable$/m);
  });

  it('frr: calls paths of nodes with different AS numbers equal', async () => {
    const args = [...routerArguments(plain()), '--neighbor', '10.0.0.11'];
    expect((await runManifest(...args)).stdout).to.match(
      /^ bgp bestpath as-path multipath-relax$/m,
    );
  });

  for (const kind of ['frr', 'bird', 'gobgp', 'openbgpd']) {
    it(`${kind}: files for nodes with different AS numbers have no name in common`, async () => {
      const overrides = [{ nodeSelector: { matchLabels: { rack: 'b' } }, localASN: 64513 }];
      const folder = documentsFolder({
        'net.yaml': peerDocument('tor', { ...tor, overrides }) + poolDocument('vips', vips),
      });
      const args = [...routerArguments(folder, kind), '--neighbor', '10.0.0.11'];
      expect((await runManifest(...args)).stderr).to.match(/64512, 64513.*--asn.*--max-nodes/);
      const namesFor = async (asn: string) => {
        const { stdout } = await runManifest(...args, '--asn', asn);
        return new Set(stdout.match(/\bherald[-_]tor[\w-]*/g));
      };
      const [first, second] = [await namesFor('64512'), await namesFor('64513')];
      expect(first.size).to.be.above(0);
      expect([...first].filter((name) => second.has(name))).to.deep.equal([]);
    });
  }

  describe('holdSeconds: 0', () => {
    const args = (kind: string) => {
      const peer = peerDocument('tor', { ...tor, timers: { holdSeconds: 0 } });
      const folder = documentsFolder({ 'net.yaml': peer + poolDocument('vips', vips) });
      return [...routerArguments(folder, kind), '--neighbor', '10.0.0.11'];
    };

    it('openbgpd: is refused, since it has no such session', async () => {
      const { status, stdout, stderr } = await runManifest(...args('openbgpd'));
      expect({ status, stdout }).to.deep.equal({ status: 2, stdout: '' });
      expect(stderr).to.match(/BGPPeer tor says holdSeconds: 0; set it to 3 or more/);
    });

    for (const kind of ['frr', 'bird', 'gobgp']) {
      it(`${kind}: the file promises nothing about a node that dies in silence`, async () => {
        const { stdout } = await runManifest(...args(kind));
        expect(stdout).to.include('dies in silence is not noticed').and.not.include('gone after');
      });
    }
  });

  it('frr: exact lengths, limits from maxRoutes, listen limit, timers, nothing out', async () => {
    const folder = documentsFolder({
      'net.yaml':
        peerDocument('tor', {
          ...tor,
          maxRoutes: 100,
          timers: { holdSeconds: 30, keepaliveSeconds: 10, connectRetrySeconds: 5 },
          password: { file: '/etc/herald/bgp.key' },
        }) + poolDocument('vips', vips),
      'bgp.key': password,
    });
    const { stdout } = await runManifest(
      ...routerArguments(folder),
      ...['--neighbor-range', '10.0.0.0/24', '--max-nodes', '8', '--restart-minutes', '2'],
    );
    const expected = [
      'ip prefix-list herald-tor-ipv4 seq 5 permit 192.0.2.8/29 ge 32 le 32',
      'ip prefix-list herald-tor-ipv4 seq 15 permit 192.0.2.20/32',
      'ipv6 prefix-list herald-tor-ipv6 seq 5 permit 2001:db8:1::/120 ge 128 le 128',
      'route-map herald-tor-out deny 10',
      ' neighbor herald-tor timers 10 30',
      ' bgp listen limit 8',
      ' bgp listen range 10.0.0.0/24 peer-group herald-tor',
      '  neighbor herald-tor route-map herald-tor-out out',
      '  neighbor herald-tor maximum-prefix 110 restart 2',
      '  maximum-paths 8',
    ];
    const lines = stdout.split('\n');
    expect(expected.filter((line) => !lines.includes(line))).to.deep.equal([]);
  });

  it('--cloud-init: the package, the very file for its daemon only, forwarding of its families', async () => {
    const folder = documentsFolder({
      'net.yaml':
        peerDocument('tor', {
          ...{ ...tor, families: ['ipv4'] },
          password: { file: '/etc/herald/bgp.key' },
        }) + poolDocument('vips', vips),
      'bgp.key': `${password}\n`,
    });
    const neighbour = ['--neighbor', '10.0.0.11'];
    for (const [kind, name, owner] of [
      ['bird', 'bird2', 'root:bird'],
      ['frr', 'frr', 'frr:frr'],
    ] as const) {
      const args = [...routerArguments(folder, kind), ...neighbour];
      const file = (await runManifest(...args)).stdout;
      const { stdout, stderr } = await runManifest(...args, '--cloud-init');
      expect(stderr).to.include('TCP-MD5 key');
      expect(stdout.split('\n', 1)).to.deep.equal(['#cloud-config']);
      const data = load(stdout);
      expect(at(data, 'packages')).to.deep.equal([name]);
      expect(at(data, 'write_files', 1)).to.include({
        ...{ content: file, owner, permissions: '0640', defer: true },
      });
      expect(at(data, 'write_files', 0, 'content'))
        .to.include('ip_forward')
        .and.not.include('ipv6');
      const last = [`systemctl`, 'restart', `${kind}.service`];
      expect((at(data, 'runcmd') as unknown[]).at(-1)).to.deep.equal(last);
    }
    const refused = await runManifest(
      ...routerArguments(folder, 'gobgp'),
      ...neighbour,
      '--cloud-init',
    );
    expect(refused).to.include({ status: 2, stdout: '' });
    expect(refused.stderr).to.include('--cloud-init is for bird and frr');
  });

  it('takes the AS numbers that the document leaves open from flags', async () => {
    const folder = documentsFolder({
      'net.yaml':
        peerDocument('tor', { address: '10.0.0.1', asn: 'external' }) + poolDocument('vips', vips),
    });
    const args = [...routerArguments(folder), '--neighbor', '10.0.0.11'];
    expect((await runManifest(...args)).stderr).to.match(/--asn N/);
    expect((await runManifest(...args, '--asn', '64512')).stderr).to.match(/--router-asn N/);
    const { stdout } = await runManifest(...args, '--asn', '64512', '--router-asn', '4200000001');
    expect(stdout).to.include('router bgp 4200000001\n').and.include('remote-as 64512\n');
  });
});

describe('herald manifest systemd', () => {
  const folder = () =>
    documentsFolder({
      'net.yaml':
        peerDocument('tor', tor) + poolDocument('vips', { ...vips, drain: { waitSeconds: 45 } }),
    });

  it('stops later than the longest drain, and leaves NET_ADMIN only', async () => {
    const { stdout } = await runManifest(
      'systemd',
      '--source',
      `files:${folder()}`,
      ...joinArguments,
    );
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(stdout)?.[1])).to.be.above(45);
    expect(stdout).to.match(/^CapabilityBoundingSet=CAP_NET_ADMIN$/m);
    expect(stdout)
      .to.match(/^After=network\.target$/m)
      .and.not.match(/^(Wants|Requires)/m);
    expect(stdout).to.match(
      /^ExecStart=\/opt\/herald\/herald agent --source files:\/etc\/herald .*--join-check https:\/\/127\.0\.0\.1:6443\/readyz --join-ca \/etc\/kubernetes\/pki\/ca\.crt --node-name %H$/m,
    );
  });

  it('may bind port 179 when a peer is listened for', async () => {
    const listening = documentsFolder({
      'net.yaml': peerDocument('tor', { ...tor, listen: true }) + poolDocument('vips', vips),
    });
    const args = ['systemd', '--source', `files:${listening}`, '--join-check', 'none'];
    const { stdout } = await runManifest(...args);
    expect(stdout).to.match(/^AmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE$/m);
    const high = await runManifest(...args, '--listen-port', '1179');
    expect(high.stdout).to.match(/^AmbientCapabilities=CAP_NET_ADMIN$/m);
  });

  it('hides other processes, unless a check by command may look for them', async () => {
    const withCheck = documentsFolder({
      'net.yaml':
        peerDocument('tor', tor) +
        poolDocument('vips', vips) +
        claimDocument('192.0.2.9', { checks: [{ exec: { command: ['/bin/pidof', 'haproxy'] } }] }),
    });
    const unit = async (source: string, join: string) => {
      const args = ['systemd', '--source', `files:${source}`, '--join-check', join];
      return (await runManifest(...args)).stdout;
    };
    // members of group 0 see everything, whatever ProtectProc says
    expect(await unit(folder(), 'none')).to.match(/^ProtectProc=invisible\nGroup=65534$/m);
    for (const text of [await unit(withCheck, 'none'), await unit(folder(), 'exec:/bin/true')])
      expect(text).to.not.match(/^(ProtectProc|Group)=/m);
  });

  it('keeps what systemd would expand', async () => {
    const { stdout } = await runManifest(
      ...[
        'systemd',
        '--source',
        `files:${folder()}`,
        '--join-check',
        'exec:/bin/check 100% "$HOME"',
      ],
    );
    expect(stdout).to.include('--join-check "exec:/bin/check 100%% \\"$$HOME\\""');
  });

  it('needs a join check and takes only one that the agent takes', async () => {
    const args = ['systemd', '--source', `files:${folder()}`];
    expect((await runManifest(...args)).stderr).to.include('--join-check');
    expect((await runManifest(...args, '--join-check', 'nonsense')).status).to.equal(2);
    const pinned = ['--join-check', 'https://127.0.0.1/', '--join-pin', 'abc'];
    expect((await runManifest(...args, ...pinned)).stderr).to.match(/--join-pin.*64 hex digits/);
  });

  it('passes systemd-analyze verify', async function () {
    try {
      execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' });
    } catch {
      process.stderr.write('SKIPPED: systemd-analyze is missing; run `make setup`.\n');
      this.skip();
    }
    this.timeout(90_000);
    const place = mkdtempSync(join(tmpdir(), 'herald-unit-'));
    try {
      const exec = join(import.meta.dirname, '../../../src/cli/herald');
      const { stdout } = await runManifest(
        ...['systemd', '--source', `files:${folder()}`, '--exec', exec, ...joinArguments],
      );
      const unit = join(place, 'herald.service');
      const verify = (text: string) => {
        writeFileSync(unit, text);
        return execFileSync('systemd-analyze', ['verify', '--man=no', unit], {
          encoding: 'utf8',
          stdio: 'pipe',
        });
      };
      // a unit with a mistake in it must not pass, else this proves nothing
      expect(() => verify(stdout.replace(exec, '/absent/herald'))).to.throw(/absent/);
      verify(stdout);
      const security = execFileSync(
        'systemd-analyze',
        ['security', '--offline=yes', '--no-pager', unit],
        { encoding: 'utf8' },
      );
      const exposure = Number(/exposure level for herald\.service: ([\d.]+)/.exec(security)?.[1]);
      expect(exposure, security.split('\n').at(-2)).to.be.below(4);
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
});

describe('herald manifest cloud-init', () => {
  const files = {
    'net.yaml':
      peerDocument('tor', { ...tor, password: { file: '/etc/herald/bgp.key' } }) +
      poolDocument('vips', vips),
    'vip.yaml': `# the API server\n${claimDocument('192.0.2.8', { bind: { interface: 'lo' } })}`,
    'bgp.key': `${password}\n`,
    'notes.txt': 'not a document',
  };

  it('writes the very files, keys for root only, the unit, and starts it', async () => {
    const folder = documentsFolder(files);
    const { stdout, stderr } = await runManifest(
      'cloud-init',
      '--source',
      `files:${folder}`,
      ...joinArguments,
    );
    expect(stdout).to.match(/^#cloud-config\n/);
    expect(stderr).to.match(/holds a TCP-MD5 key/);
    const data = load(stdout);
    const written = at(data, 'write_files');
    if (!Array.isArray(written)) throw new Error('no write_files');
    const byPath = new Map(written.map((file) => [at(file, 'path'), file]));
    expect([...byPath.keys()]).to.deep.equal([
      '/etc/herald/net.yaml',
      '/etc/herald/vip.yaml',
      '/etc/herald/bgp.key',
      '/etc/sysctl.d/90-herald.conf',
      '/etc/systemd/system/herald.service',
    ]);
    expect(at(byPath.get('/etc/herald/net.yaml'), 'content')).to.equal(files['net.yaml']);
    expect(at(byPath.get('/etc/herald/vip.yaml'), 'content')).to.equal(files['vip.yaml']);
    expect(byPath.get('/etc/herald/bgp.key')).to.include({
      permissions: '0600',
      content: `${password}\n`,
    });
    expect(at(byPath.get('/etc/sysctl.d/90-herald.conf'), 'content')).to.match(
      /arp_ignore = 1\n.*arp_announce = 2/,
    );
    const unit = await runManifest('systemd', '--source', `files:${folder}`, ...joinArguments);
    expect(at(byPath.get('/etc/systemd/system/herald.service'), 'content')).to.equal(unit.stdout);
    expect(at(data, 'runcmd')).to.deep.equal([
      ['sysctl', '-q', '-p', '/etc/sysctl.d/90-herald.conf'],
      ['systemctl', 'daemon-reload'],
      ['systemctl', 'enable', '--now', 'herald.service'],
    ]);
  });

  it('fetches the program where it is told from, and checks what comes over http', async () => {
    const args = [
      'cloud-init',
      '--source',
      `files:${documentsFolder(files)}`,
      '--join-check',
      'none',
    ];
    expect((await runManifest(...args, '--program', 'http://10.0.0.1/h.tgz')).stderr).to.match(
      /--program-sha256/,
    );
    const sha256 = 'ab'.repeat(32);
    const { stdout } = await runManifest(
      ...[...args, '--program', 'http://10.0.0.1/h.tgz', '--program-sha256', sha256],
    );
    expect(stdout).to.include(
      `ExecStartPre=+/usr/bin/python3 /usr/local/lib/herald/fetch-program http://10.0.0.1/h.tgz /opt/herald ${sha256}\n`,
    );
    expect((await runManifest(...args, '--program', 'herald.tgz')).status).to.equal(2);
  });

  it('wants an AS number for peers that have none', async () => {
    const folder = documentsFolder({
      'net.yaml':
        peerDocument('tor', { address: '10.0.0.1', asn: 64500 }) + poolDocument('vips', vips),
    });
    const args = ['cloud-init', '--source', `files:${folder}`, '--join-check', 'none'];
    expect((await runManifest(...args)).stderr).to.match(/BGPPeer tor has no localASN/);
    expect((await runManifest(...args, '--asn', '64512')).stdout).to.include('--asn 64512');
  });
});

describe('text in YAML', () => {
  const texts = [
    'a\n',
    'a',
    'a\n\n\n',
    'a\n\n  b: |\n',
    '  indented\n',
    '\nleading',
    'tab\there\n',
    'é ü\n',
    '\u0007',
    '',
  ];
  for (const text of texts) {
    it(`gives back ${JSON.stringify(text)}`, () => {
      const { encoding, text: written } = block(text, 4);
      const content = at(load(`a:\n  content: ${written}  next: 1\n`), 'a', 'content') ?? '';
      const decoded =
        encoding === 'b64' ? Buffer.from(String(content), 'base64').toString() : content;
      expect(decoded).to.equal(text);
    });
  }
});

describe('herald manifest static-pod', () => {
  it('is unprivileged, host-networked, critical, and outlives its drain', async () => {
    const folder = documentsFolder({
      'net.yaml':
        peerDocument('tor', { ...tor, password: { file: '/root/bgp.key' } }) +
        poolDocument('vips', { ...vips, drain: { waitSeconds: 60 } }),
    });
    const { stdout } = await runManifest(
      'static-pod',
      '--source',
      `files:${folder}`,
      ...joinArguments,
    );
    const pod = load(stdout);
    expect(pod).to.include({ apiVersion: 'v1', kind: 'Pod' });
    const spec = at(pod, 'spec');
    expect(spec).to.include({ hostNetwork: true, priorityClassName: 'system-node-critical' });
    expect(at(spec, 'terminationGracePeriodSeconds')).to.be.above(60);
    const agent = at(spec, 'containers', 0);
    expect(agent).to.include({ image: 'herald:9.9.9', imagePullPolicy: 'IfNotPresent' });
    expect(at(agent, 'securityContext')).to.deep.equal({
      runAsUser: 0,
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
    });
    expect(at(agent, 'args')).to.deep.equal([
      'agent',
      ...['--source', 'files:/etc/herald', '--state-dir', '/var/lib/herald'],
      ...['--socket', '/run/herald/agent.sock', '--stop-grace', '80', ...joinArguments],
    ]);
    expect(at(agent, 'env', 0, 'valueFrom', 'fieldRef', 'fieldPath')).to.equal('spec.nodeName');
    expect(at(spec, 'volumes')).to.deep.equal([
      { name: 'documents', hostPath: { path: '/etc/herald', type: 'Directory' } },
      { name: 'state', hostPath: { path: '/var/lib/herald', type: 'DirectoryOrCreate' } },
      { name: 'run', hostPath: { path: '/run/herald', type: 'DirectoryOrCreate' } },
      // the file itself is made by kubeadm, later
      {
        name: 'authority',
        hostPath: { path: '/etc/kubernetes/pki', type: 'DirectoryOrCreate' },
      },
      { name: 'file-1', hostPath: { path: '/root/bgp.key', type: 'File' } },
    ]);
    const mounts = at(agent, 'volumeMounts');
    if (!Array.isArray(mounts)) throw new Error('no mounts');
    const writable = mounts.filter((mount) => at(mount, 'readOnly') !== true);
    expect(writable.map((mount) => at(mount, 'mountPath'))).to.deep.equal([
      '/var/lib/herald',
      '/run/herald',
    ]);
  });

  it('binds port 179 only when a peer is listened for', async () => {
    const folder = documentsFolder({
      'net.yaml': peerDocument('tor', { ...tor, listen: true }) + poolDocument('vips', vips),
    });
    const { stdout } = await runManifest(
      ...[
        'static-pod',
        '--source',
        `files:${folder}`,
        '--join-check',
        'none',
        '--image',
        'registry.example/herald:1',
      ],
    );
    const agent = at(load(stdout), 'spec', 'containers', 0);
    expect(at(agent, 'securityContext', 'capabilities', 'add')).to.deep.equal([
      'NET_ADMIN',
      'NET_BIND_SERVICE',
    ]);
    expect(at(agent, 'image')).to.equal('registry.example/herald:1');
  });
});
