/**
 * What containerd, the network plugin, kubelet and kube-proxy of a node are told. Pure: text and objects, for files.
 *
 * A node is a machine with folders of its own (machine.ts), so the usual paths are used. Settings that are not usual say why.
 */

import { type NodePlan, POD_CIDR } from './plan.ts';

/** Not the usual /etc/kubernetes/manifests: of /etc all nodes have that of this machine. */
export const STATIC_PODS = '/var/lib/kubelet/manifests';
export const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';
/** Given in a file of a node, read by its kubelet and kube-proxy. */
export interface NodeFiles {
  readonly caFile: string;
  readonly kubeconfig: string;
}

/** Kernel settings that a kubelet wants; it must not change those of this machine, so each node believes to have them. */
export const KUBELET_SYSCTLS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

export function containerdConfig(options: {
  readonly sandboxImage: string;
  readonly cniFolder: string;
}): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
# opt would make a folder /opt/containerd; the others are file systems that nobody has asked for
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
  address = "${CONTAINERD_SOCKET}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${options.sandboxImage}"
  # lowering it needs CAP_SYS_RESOURCE, which is often missing where machines are containers themselves
  restrict_oom_score_adj = true
  disable_apparmor = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${options.cniFolder}"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`;
}

/** A wire to each pod, addresses from the node's own subnets, no NAT: the other nodes have routes to them. */
export function networkConfig(node: NodePlan): object {
  return {
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: node.pods.ipv4 }], [{ subnet: node.pods.ipv6 }]],
          routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

export function kubeletConfig(cgroup: string, files: NodeFiles): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: files.caFile },
    },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    staticPodPath: STATIC_PODS,
    cgroupDriver: 'cgroupfs',
    // the nodes share one kernel: each has its own branch of the tree
    cgroupRoot: cgroup,
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    // the disk and the memory are those of this machine and not the lab's to judge
    localStorageCapacityIsolation: false,
    evictionHard: {},
    // no image comes back from a registry once it is removed
    imageGCHighThresholdPercent: 100,
    oomScoreAdj: 0,
    // the default is in /usr
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    makeIPTablesUtilChains: false,
    // nothing answers names in this cluster, and the resolver of this machine is out of reach for a pod
    resolvConf: '',
  };
}

export function kubeletArgs(node: NodePlan, configFile: string, kubeconfig: string): string[] {
  const labels = Object.entries(node.labels).map(([name, value]) => `${name}=${value}`);
  return [
    `--config=${configFile}`,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${node.name}`,
    `--node-ip=${node.address.ipv4},${node.address.ipv6}`,
    ...(labels.length === 0 ? [] : [`--node-labels=${labels.join()}`]),
  ];
}

export function proxyConfig(node: NodePlan, kubeconfig: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig },
    hostnameOverride: node.name,
    clusterCIDR: `${POD_CIDR.ipv4},${POD_CIDR.ipv6}`,
    // the table's size is one for the whole kernel, and a namespace may not change it
    conntrack: { maxPerCore: 0 },
  };
}
