/**
 * User-data for cloud-init: everything a machine needs to announce its addresses, with no input after its first boot. The same
 * text serves every machine; what differs (the name) is read from the machine itself. Machines, router and the server of the program
 * may come up in any order: each side tries for ever.
 */

import type { Documents } from '../model/documents.ts';
import { type AgentSettings, bindsIpv4 } from './agent-command.ts';
import { renderUnit } from './systemd.ts';
import { block } from './yaml-text.ts';

export interface NodeFile {
  readonly path: string;
  readonly content: string;
  /** like 0600 */
  readonly mode: string;
  /** absent: root:root */
  readonly owner?: string;
  /** written in the last stage, after packages and users are there */
  readonly isDeferred?: boolean;
}

export interface CloudInitOptions {
  readonly exec: string;
  /** the documents and their password files, where the node has them */
  readonly files: readonly NodeFile[];
  readonly program?: { readonly url: string; readonly sha256?: string };
}

const UNIT = '/etc/systemd/system/herald.service';
const SYSCTL = '/etc/sysctl.d/90-herald.conf';
const FETCH = '/usr/local/lib/herald/fetch-program';

export function renderCloudInit(
  documents: Documents,
  settings: AgentSettings,
  options: CloudInitOptions,
): string {
  const { program, exec } = options;
  const folder = exec.slice(0, exec.lastIndexOf('/'));
  const fetch =
    program === undefined
      ? undefined
      : ['/usr/bin/python3', FETCH, program.url, folder, program.sha256 ?? 'unchecked'];
  const unit = renderUnit(documents, settings, { exec, ...(fetch === undefined ? {} : { fetch }) });
  const sysctl = bindsIpv4(documents);
  const files: NodeFile[] = [
    ...options.files,
    ...(sysctl ? [{ path: SYSCTL, content: ARP_SETTINGS, mode: '0644' }] : []),
    ...(fetch === undefined ? [] : [{ path: FETCH, content: FETCH_PROGRAM, mode: '0755' }]),
    { path: UNIT, content: unit, mode: '0644' },
  ];
  const commands = [
    ...(sysctl ? [['sysctl', '-q', '-p', SYSCTL]] : []),
    ['systemctl', 'daemon-reload'],
    ['systemctl', 'enable', '--now', 'herald.service'],
  ];
  return `#cloud-config
# Written by: herald manifest cloud-init. The same user-data serves every machine, in any boot order; a machine's name comes
# from its own hostname.${options.files.some(({ mode }) => mode === '0600') ? ' It holds TCP-MD5 keys: whoever can read the user-data can read them.' : ''}
# ${
    program === undefined
      ? `The program is part of the image: ${exec} must be there (dist/ of a build, and Node 26).`
      : `The program comes from ${program.url}: an archive of dist/ with Node 26 in it.`
  }
write_files:
${files.map(renderFile).join('')}runcmd:
${renderCommands(commands)}`;
}

/** Lines of `runcmd`. */
export function renderCommands(commands: readonly (readonly string[])[]): string {
  const words = (command: readonly string[]) => command.map((word) => JSON.stringify(word));
  return commands.map((command) => `  - [${words(command).join(', ')}]\n`).join('');
}

/** An entry of `write_files`. */
export function renderFile({ path, content, mode, owner, isDeferred }: NodeFile): string {
  const { encoding, text } = block(content, 6);
  return `  - path: ${JSON.stringify(path)}
    owner: ${owner ?? 'root:root'}
    permissions: '${mode}'
${isDeferred === true ? '    defer: true\n' : ''}${encoding === undefined ? '' : `    encoding: ${encoding}\n`}    content: ${text}`;
}

const ARP_SETTINGS = `# Herald puts addresses on an interface of this machine that others reach through a router, never by ARP: answer only
# for addresses of the interface that was asked, and ask with addresses of the interface that asks.
net.ipv4.conf.all.arp_ignore = 1
net.ipv4.conf.all.arp_announce = 2
`;

/** cloud-init is Python, so python3 is there; curl and wget may not be. */
const FETCH_PROGRAM = `#!/usr/bin/python3
"""Puts the herald program into a folder: fetch-program URL FOLDER SHA256|unchecked. Does nothing when it is there already."""
import hashlib, os, shutil, sys, tarfile, urllib.request

url, folder, wanted = sys.argv[1:4]
stamp = os.path.join(folder, ".fetched")
mark = url + " " + wanted
if os.path.exists(stamp) and open(stamp).read() == mark:
    sys.exit(0)
fresh = folder + ".new"
archive = folder + ".archive"
shutil.rmtree(fresh, ignore_errors=True)
os.makedirs(fresh)
digest = hashlib.sha256()
with urllib.request.urlopen(url, timeout=30) as source, open(archive, "wb") as target:
    while chunk := source.read(1 << 20):
        digest.update(chunk)
        target.write(chunk)
if wanted != "unchecked" and digest.hexdigest() != wanted:
    sys.exit("fetch-program: %s has the SHA-256 %s, not %s" % (url, digest.hexdigest(), wanted))
with tarfile.open(archive) as tar:
    tar.extractall(fresh)
os.unlink(archive)
with open(os.path.join(fresh, ".fetched"), "w") as out:
    out.write(mark)
shutil.rmtree(folder, ignore_errors=True)
os.rename(fresh, folder)
`;
