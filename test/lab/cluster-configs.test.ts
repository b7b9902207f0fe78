import { expect } from 'chai';
import { bounded } from '../../lab/cluster/api.ts';
import {
  containerdConfig,
  KUBELET_SYSCTLS,
  kubeletArgs,
  kubeletConfig,
  networkConfig,
  proxyConfig,
} from '../../lab/cluster/configs.ts';
import {
  apiServerArgs,
  apiUrl,
  controllerManagerArgs,
  etcdArgs,
} from '../../lab/cluster/control-plane.ts';
import { machineScript } from '../../lab/cluster/machine.ts';
import { type NodePlan, planCluster } from '../../lab/cluster/plan.ts';

const PLAN = planCluster(
  'lab',
  [{ name: 'n1', netns: 'lab-n1', labels: { rack: '1', 'topology.kubernetes.io/zone': 'rack1' } }],
  '',
);
const NODE: NodePlan = PLAN.nodes[0] ?? fail();
const PKI = {
  server: { certFile: '/pki/server.pem', keyFile: '/pki/server.key' },
  caFile: '/pki/ca.pem',
  serviceAccountKey: '/pki/sa.key',
};

function fail(): never {
  throw new Error('the plan has no node');
}

describe('what the programs of the lab cluster are told', () => {
  it('containerd takes our sandbox and our network, and makes no folder outside of the machine', () => {
    const config = containerdConfig({ sandboxImage: 'pause:local', cniFolder: '/lab/n1/cni' });
    expect(config).to.include('sandbox_image = "pause:local"');
    expect(config).to.include('conf_dir = "/lab/n1/cni"');
    expect(config).to.match(/disabled_plugins = \[.*"io\.containerd\.internal\.v1\.opt"/);
    expect(config).to.include('restrict_oom_score_adj = true');
  });

  it('pods have addresses of both families from the subnets of their node', () => {
    const text = JSON.stringify(networkConfig(NODE));
    expect(text).to.include(
      '"ranges":[[{"subnet":"10.244.1.0/24"}],[{"subnet":"fd00:244:1::/64"}]]',
    );
  });

  it('a kubelet has its own control group and its Node both addresses and the labels', () => {
    const files = { caFile: '/pki/ca.pem', kubeconfig: '/k' };
    expect(kubeletConfig('/lab/n1', files)).to.include({
      cgroupRoot: '/lab/n1',
      cgroupDriver: 'cgroupfs',
      failCgroupV1: false,
      imageGCHighThresholdPercent: 100,
    });
    expect(kubeletArgs(NODE, '/config', '/k')).to.deep.equal([
      '--config=/config',
      '--kubeconfig=/k',
      '--hostname-override=n1',
      '--node-ip=198.18.200.11,fd00:18:200::11',
      '--node-labels=rack=1,topology.kubernetes.io/zone=rack1',
    ]);
    expect(kubeletArgs({ ...NODE, labels: {} }, '/config', '/k').join()).to.not.include('labels');
  });

  it('kube-proxy leaves the size of the connection table alone', () => {
    expect(proxyConfig(NODE, '/k')).to.deep.include({
      mode: 'nftables',
      hostnameOverride: 'n1',
      conntrack: { maxPerCore: 0 },
    });
  });

  it('the API server listens where nodes and kubectl reach it', () => {
    expect(apiUrl(PLAN)).to.equal('https://198.18.200.1:6443');
    const kubeletClient = { certFile: '/pki/1.pem', keyFile: '/pki/1.key' };
    const args = apiServerArgs(PLAN, { pki: PKI, kubeletClient });
    expect(args).to.include('--bind-address=198.18.200.1');
    expect(args).to.include('--authorization-mode=Node,RBAC');
    expect(args).to.include('--service-cluster-ip-range=10.96.0.0/16,fd00:96::/108');
    expect(args).to.include('--kubelet-client-key=/pki/1.key');
  });

  it('the controller-manager makes no folder in /usr, etcd waits for no disk', () => {
    const args = controllerManagerArgs('/k', PKI);
    expect(args.find((each) => each.startsWith('--flex-volume'))).to.match(/=\/var\/lib\//);
    expect(args).to.include('--service-account-private-key-file=/pki/sa.key');
    expect(etcdArgs('/var/lib/etcd')).to.include('--unsafe-no-fsync');
  });

  it('kubectl waits for no answer longer than for a roll-out, whatever it runs in a pod', () => {
    expect(bounded(['get', 'nodes'])).to.deep.equal(['get', 'nodes', '--request-timeout=150s']);
    expect(bounded(['exec', 'pod', '--', 'ls', '-l'])).to.deep.equal([
      ...['exec', 'pod', '--request-timeout=150s', '--', 'ls', '-l'],
    ]);
  });

  it('a machine has its own /run, /var/lib and /var/log, and kernel settings that a kubelet need not change', () => {
    const script = machineScript({ name: 'n1', folder: '/lab/n1', sysctls: KUBELET_SYSCTLS });
    const lines = script.split('\n');
    expect(lines).to.include('mount --bind /lab/n1/disk/lib /var/lib');
    expect(lines).to.include('mount --bind /lab/n1/disk/log /var/log');
    expect(lines).to.include('mount --bind /lab/n1/sysctl/kernel/panic /proc/sys/kernel/panic');
    expect(lines.indexOf('mount -t proc proc /proc')).to.be.lessThan(
      lines.findIndex((line) => line.includes('/proc/sys')),
    );
    expect(lines.at(-1)).to.equal('exec "$0" pause "$1"');
  });
});
