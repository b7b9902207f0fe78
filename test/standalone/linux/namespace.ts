/** One machine in a namespace with `lo` and a veth `eth0` to a neighbour, and its addresses as iproute2 sees them. */

import type { AddressWorld } from '../../compliance/address-table.ts';
import { createLab, type Host, type Lab } from '../../support/netns.ts';
import { run } from '../../support/process.ts';
import type { SubjectStart } from './subject.ts';
import { LinuxSubject } from './subject-client.ts';

export interface Machine {
  readonly lab: Lab;
  readonly host: Host;
  readonly neighbour: Host;
}

export async function createMachine(): Promise<Machine> {
  const lab = createLab('linux');
  const host = await lab.host('node', { forward: false });
  const neighbour = await lab.host('peer', { forward: false });
  await lab.link(host, neighbour, {
    a: ['10.99.0.1/24', '2001:db8:99::1/64'],
    b: ['10.99.0.2/24', '2001:db8:99::2/64'],
  });
  return { lab, host, neighbour };
}

interface IpLink {
  readonly ifname: string;
  readonly addr_info: readonly {
    readonly local: string;
    readonly prefixlen: number;
    readonly label?: string;
    readonly scope: string;
    readonly valid_life_time: number;
    readonly preferred_life_time: number;
    readonly deprecated?: boolean;
    readonly nodad?: boolean;
    readonly tentative?: boolean;
    readonly protocol?: string;
  }[];
}

export async function ipAddresses(host: Host): Promise<readonly IpLink[]> {
  const { stdout } = await run('ip', ['-netns', host.namespace, '-j', 'address', 'show']);
  return JSON.parse(stdout);
}

/** `192.0.2.1/32 lo`, without what the kernel gives every machine */
export async function addressLines(host: Host): Promise<readonly string[]> {
  const links = await ipAddresses(host);
  return links
    .flatMap(({ ifname, addr_info }) =>
      addr_info.map(({ local, prefixlen }) => `${local}/${prefixlen} ${ifname}`),
    )
    .filter((line) => !/^(127\.|::1\/|fe80:)/.test(line))
    .sort();
}

export async function createAddressWorld(start: SubjectStart = {}): Promise<AddressWorld> {
  const { lab, host } = await createMachine();
  const subjects = new Set<LinuxSubject>();
  return {
    open: async () => {
      const subject = new LinuxSubject(host, start);
      subjects.add(subject);
      await subject.links();
      return subject;
    },
    addresses: () => addressLines(host),
    addByHand: (address, name) =>
      host.ip(`address add ${address} dev ${name}${address.includes(':') ? ' nodad' : ''}`),
    removeByHand: (address, name) => host.ip(`address delete ${address} dev ${name}`),
    addLink: (name) => host.ip(`link add ${name} type veth peer name ${name}x`),
    removeLink: (name) => host.ip(`link delete ${name}`),
    destroy: async () => {
      await Promise.all([...subjects].map((subject) => subject.vanish()));
      await lab.destroy();
    },
  };
}
