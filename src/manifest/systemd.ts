/**
 * The unit that runs an agent on a machine. It runs as root without root's powers: password files and the API server's
 * certificates belong to root and are read as their owner, and of all capabilities only NET_ADMIN is left (addresses, TCP-MD5, GTSM).
 * DynamicUser would lock it out of those files.
 */

import type { Documents } from '../model/documents.ts';
import {
  type AgentSettings,
  agentArguments,
  needsBindService,
  passwordFiles,
  runsCommands,
  stopSeconds,
} from './agent-command.ts';

export interface UnitOptions {
  /** the herald program on the node */
  readonly exec: string;
  /** a command that puts the program there; it may fail and is tried again with the unit */
  readonly fetch?: readonly string[];
}

export function renderUnit(
  documents: Documents,
  settings: AgentSettings,
  options: UnitOptions,
): string {
  // %H is the machine's name: the same unit serves every machine
  const name = settings.nodeName === undefined ? '%H' : quoted(settings.nodeName);
  const command = [options.exec, ...agentArguments(documents, settings)].map(quoted);
  const capabilities = needsBindService(documents, settings)
    ? 'CAP_NET_ADMIN CAP_NET_BIND_SERVICE'
    : 'CAP_NET_ADMIN';
  const paths = [options.exec, settings.documentsFolder, ...passwordFiles(documents)];
  if (settings.joinCa !== undefined) paths.push(settings.joinCa);
  const processes = runsCommands(documents, settings) ? SEES_PROCESSES : HIDES_PROCESSES;
  return `# Written by: herald manifest systemd. For /etc/systemd/system/herald.service, then:
#   systemctl daemon-reload && systemctl enable --now herald
[Unit]
Description=Herald: announces the addresses that this machine can serve to its routers (BGP)
# not network-online: the agent dials for ever, and a machine without a router must boot as well
After=network.target
# restart for ever
StartLimitIntervalSec=0

[Service]
Type=exec
${fetchLines(options.fetch)}ExecStart=${command.join(' ')} --node-name ${name}
Restart=always
RestartSec=1
# SIGTERM drains, withdraws and says goodbye: longer than the longest drain of the pools
KillMode=mixed
TimeoutStopSec=${stopSeconds(documents)}
RuntimeDirectory=herald
StateDirectory=herald
StateDirectoryMode=0700
UMask=0077
OOMScoreAdjust=-900

# of root's powers only these: addresses and TCP-MD5${capabilities.includes('BIND') ? ', and port 179, since a peer is listened for' : ''}
CapabilityBoundingSet=${capabilities}
AmbientCapabilities=${capabilities}
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=${paths.some((path) => /^\/(home|root|run\/user)(\/|$)/.test(path)) ? 'read-only' : 'yes'}
PrivateTmp=${paths.some((path) => /^\/(var\/)?tmp(\/|$)/.test(path)) ? 'no' : 'yes'}
PrivateDevices=yes
${processes}
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
# MemoryDenyWriteExecute stays off: the JavaScript engine compiles while it runs

[Install]
WantedBy=multi-user.target
`;
}

/** The kernel shows every process to members of group 0, whatever ProtectProc says: the agent must not be one (0035). */
const HIDES_PROCESSES = `# other processes are hidden; the group, since members of root's group would see them all the same
ProtectProc=invisible
Group=65534`;
const SEES_PROCESSES =
  '# other processes are visible: there is a check by command, and pidof or pgrep look for them';

function fetchLines(fetch: readonly string[] | undefined): string {
  if (fetch === undefined) return '';
  return `# outside the sandbox (+), since it writes the program; a download that fails is tried again
ExecStartPre=+${fetch.map(quoted).join(' ')}
TimeoutStartSec=infinity
`;
}

/** One argument of an ExecStart line: systemd expands % and $ and splits at spaces. */
function quoted(argument: string): string {
  const escaped = argument.replaceAll('%', '%%').replaceAll('$', '$$$$');
  if (/^[A-Za-z0-9_@:,./=+%$[\]-]+$/.test(escaped)) return escaped;
  return `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
