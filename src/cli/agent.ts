/**
 * `herald agent`: builds the real clock, sockets, kernel tables and files, hands them to the agent, and stops it on a signal.
 * The control socket comes first: it is what keeps a second agent off this machine.
 */

import { randomUUID } from 'node:crypto';
import { uptime } from 'node:os';
import { join, resolve } from 'node:path';
import { nodeClock, nodeRandom, parseAddress, parseRouterId } from 'bgp-ts';
import { Agent } from '../agent/agent.ts';
import type { KubeProxy } from '../agent/agent-options.ts';
import { promised } from '../agent/drain-orders.ts';
import type { ReportHealth } from '../agent/kube-report/kube-report.ts';
import { MachineMemory } from '../agent/kube-report/machine-memory.ts';
import { SavedViewFile } from '../agent/saved-view-file.ts';
import { createAskHttp } from '../checks/ask-http.ts';
import { FileTexts } from '../checks/file-texts.ts';
import { fileThreads } from '../checks/file-threads.ts';
import { nodeProbe } from '../checks/probe.ts';
import { parseLabels, SETTINGS, type SettingTexts } from '../config/agent-settings.ts';
import { type DocumentSources, parseSources } from '../config/document-sources.ts';
import { ControlServer } from '../control/server.ts';
import { takeAddressLock } from '../linux/address-lock.ts';
import { arpWarnings } from '../linux/arp-warnings.ts';
import { readBootId } from '../linux/boot-id.ts';
import { RtnetlinkDiscardRoutes } from '../linux/discard-routes.ts';
import { LockedAddressTable } from '../linux/locked-address-table.ts';
import { RtnetlinkAddressTable } from '../linux/rtnetlink-address-table.ts';
import { LOG_LEVELS, type Log } from '../log/log.ts';
import { createPinoLog } from '../log/pino-log.ts';
import { optional } from '../model/optional.ts';
import { FilesSource } from '../sources/files/files-source.ts';
import type { KubeAccess } from '../sources/kube/kube-access.ts';
import { parseListenAddress } from '../telemetry/listen-address.ts';
import { TurnWatch } from '../turns/turn-watch.ts';
import type { AgentAnnouncer } from './agent-announcer.ts';
import type { ClusterLink } from './agent-cluster.ts';
import { agentRouterId } from './agent-router-id.ts';
import { createAgentSpeaker, listed } from './agent-speaker.ts';
import type { AgentTelemetry } from './agent-telemetry.ts';
import {
  checkOwnController,
  earlyAccess,
  nodeNameOf,
  readUserSettings,
  type UserSettings,
} from './agent-wishes.ts';
import type { Command, World } from './command.ts';
import { settingsHelp } from './settings-help.ts';
import { usableStateFolder } from './state-folder.ts';
import { turnWorld } from './turn-world.ts';

const HELP = `usage: herald agent [--source files:DIR | kube | kube,files:DIR] [options]

Keeps BGP sessions with the routers that its documents name (BGPPeer), and announces a host
route for every claimed address (IPClaim, out of an IPPool) while this machine can serve it: after
the join check has passed, while the claim's own checks pass, and once the address is on its
interface where the claim asks for that. A change is taken up at once and disturbs nothing else.

Documents are YAML files in DIR, objects of a cluster (kube), or both: then files win, and only files
take away what files have. Claims of files wait for the join check. Claims of the cluster wait until
this machine's Node has been Ready in this boot, and stay when the API cannot be reached.

On SIGTERM or SIGINT it drains (GRACEFUL_SHUTDOWN, the pool's wait), withdraws, takes addresses off
their interfaces, sends Cease with a text and exits 0. A second signal ends it at once. SIGHUP looks
at all files again; that is never needed where the kernel tells of changes.

It needs CAP_NET_ADMIN for addresses and, where a peer says \`listen: true\`, CAP_NET_BIND_SERVICE;
it needs neither to announce routes. Look at it with herald status, routes and explain.

Settings: a flag beats its environment variable, that beats the file of --config (YAML, by the
names in docs/settings.md).

${settingsHelp(SETTINGS)}
  --config FILE             settings from a file (HERALD_CONFIG)
  --help                    this text

Exit status: 0 stopped by a signal, 1 it cannot run here (another agent, no right to its socket),
2 wrong usage.

Example
  herald agent --source files:/etc/herald --asn 64512 \\
    --join-check https://127.0.0.1:6443/readyz --join-ca /etc/kubernetes/pki/ca.crt
`;

/** not a setting: two agents with different settings are whom it is about */
const LOCK_FOLDER = '/run/herald';
const EXIT_FAILED = 1;
/** of `--stop-grace`: then the drain is over, whatever a pool says, since the Cease must be out before the process is killed */
const LAST_SECONDS = 5;
/** of `--stop-grace`: what is left for the end itself */
const STOP_MARGIN_SECONDS = 20;

export const agentCommand: Command = {
  name: 'agent',
  summary: 'announce claimed addresses while this machine can serve them',
  help: HELP,
  isService: true,
  async run(args, world) {
    const { settings, joinCheck } = readUserSettings(args, world);
    const nodeName = nodeNameOf(settings, world);
    const level = LOG_LEVELS.find((one) => one === settings.logLevel) ?? 'info';
    const log = createPinoLog({ level, node: nodeName, destination: world.stdout });
    await checkOwnController(settings, world);
    const access = await earlyAccess(settings, world);
    const turns = new TurnWatch(turnWorld, log);
    turns.start();
    const way: Way = { ...optional('access', access) };
    return await runAgent({
      settings,
      joinCheck,
      nodeName,
      log,
      turns,
      world,
      way,
    });
  },
};

/** To the API; beside files it may be found later. */
interface Way {
  access?: KubeAccess;
}

interface Running extends UserSettings {
  readonly way: Way;
  readonly nodeName: string;
  readonly log: Log;
  readonly turns: TurnWatch;
  readonly world: World;
}

async function runAgent(given: Running): Promise<number> {
  const { log, world } = given;
  const stopped = new Promise<string>((settle) => world.onStopSignal(settle));
  const stateDir = await usableStateFolder(given.settings.stateDir, log);
  const settings = { ...given.settings, stateDir };
  const running = { ...given, settings };
  const ownedFile = join(settings.stateDir, 'addresses');
  const kernel = new RtnetlinkAddressTable({
    ownedFile,
    onOwnedTrouble: (code) => {
      if (code === undefined) return;
      const message =
        'what the kernel cannot mark (IPv6) cannot be bound until this file can be written';
      log.warn('claim.bind', { file: ownedFile, code }, message);
    },
  });
  const addresses = new LockedAddressTable(kernel, () => takeAddressLock(LOCK_FOLDER, world.pid));
  const telemetry = await prepareTelemetry(running);
  const beside = { telemetry, announcer: await announcerOf(running) };
  const agent = await createAgent(running, addresses, beside);
  const control = new ControlServer({
    path: settings.socket,
    identity: { pid: world.pid, version: world.version, node: running.nodeName },
    status: () => agent.statusDocument(),
    onFailed: (error) =>
      log.error('agent.warning', { error: String(error) }, 'a look at the agent failed'),
    subscribe: (onChange) => agent.subscribe(onChange),
    drain: (address, reason) => promised(agent.drain(address, reason), () => agent.isKept()),
    undrain: (address) => promised(agent.undrain(address), () => agent.isKept()),
  });
  const opened = await control.start();
  if (opened.kind !== 'listening') {
    addresses.close();
    world.stderr.write(`herald agent: ${opened.sentence}\n`);
    return EXIT_FAILED;
  }
  const { text } = sourcesOf(settings);
  log.info('agent.start', { version: world.version, pid: world.pid, source: text }, 'starting');
  agent.start();
  const [files, cluster] = await startSources(running, agent, beside);
  await telemetry?.start(agent, () => cluster?.health());
  const signal = await stopped;
  const how = (await cluster?.howToStop()) ?? 'away';
  files?.stop();
  await (how === 'restart' ? agent.stopForRestart() : agent.stop(signal));
  // not before: a controller that gives the claims of this node away tells it to step down first
  await cluster?.stopListening();
  if (how === 'restart') {
    await machineMemory(settings, log).rememberRestart(nodeClock.wallTimeMs());
  }
  await cluster?.close(how);
  await Promise.all([telemetry?.stop(), control.stop()]);
  return 0;
}

async function prepareTelemetry(running: Running): Promise<AgentTelemetry | undefined> {
  const { settings, log, turns, world } = running;
  const address = parseListenAddress(settings.metricsAddress);
  if (address === undefined) return undefined;
  const { AgentTelemetry: Telemetry } = await import('./agent-telemetry.ts');
  return new Telemetry(address, { version: world.version, log, turns });
}

interface ClusterHandle {
  /** undefined while there is no way to the API yet */
  health(): ReportHealth | undefined;
  howToStop(): Promise<'away' | 'restart'>;
  stopListening(): Promise<void>;
  close(how: 'away' | 'restart'): Promise<void>;
}

/** What the cluster half of an agent needs beside it. */
interface BesideAgent {
  readonly telemetry: AgentTelemetry | undefined;
  readonly announcer: AgentAnnouncer | undefined;
}

/** Before the agent starts: what a saved View has may be another node's to announce by now. */
async function announcerOf({
  settings,
  nodeName,
  log,
}: Running): Promise<AgentAnnouncer | undefined> {
  if (settings.singleAnnouncer !== 'true') return undefined;
  const { AgentAnnouncer: Announcer } = await import('./agent-announcer.ts');
  const memory = machineMemory(settings, log);
  return new Announcer({ memory, nodeName, instance: await memory.instance() });
}

/** Files first: they are at hand, and an API may be long in coming. */
async function startSources(
  running: Running,
  agent: Agent,
  beside: BesideAgent,
): Promise<readonly [FilesSource | undefined, ClusterHandle | undefined]> {
  const { directory, sources } = sourcesOf(running.settings);
  const files =
    directory === undefined
      ? undefined
      : new FilesSource({
          directory,
          clock: nodeClock,
          ...agent.earlier,
          onChange: (documents) => agent.setDocuments(documents),
        });
  running.world.onReloadSignal(() => void files?.reload());
  await files?.start();
  const cluster = sources.includes('api') ? startCluster(running, agent, beside) : undefined;
  return [files, cluster];
}

/** It comes up in its own time, and goes with the agent, wherever it was by then. */
function startCluster(
  { settings, nodeName, log, world, way }: Running,
  agent: Agent,
  { telemetry, announcer }: BesideAgent,
): ClusterHandle {
  const ending = new AbortController();
  let link: ClusterLink | undefined;
  const linking = (async () => {
    const { awaitAccess, linkCluster } = await import('./agent-cluster.ts');
    const options = { world, log, clock: nodeClock, signal: ending.signal };
    const isNews = way.access === undefined;
    const access = way.access ?? (await awaitAccess(settings, options));
    if (access === undefined) return undefined;
    way.access = access;
    // before its documents come: what was saved may be of another cluster
    if (isNews) agent.clusterIsKnown();
    const instance = announcer?.instance ?? (await machineMemory(settings, log).instance());
    const more = { ...optional('host', telemetry), ...optional('announcer', announcer) };
    const parts = { settings, nodeName, log, world, agent, instance, ...more };
    link = await linkCluster(parts, access);
    return link;
  })();
  return {
    health: () => link?.report.health,
    howToStop: async () => (await link?.howToStop())?.kind ?? 'away',
    stopListening: async () => {
      ending.abort();
      (await linking)?.stopListening();
    },
    close: async (how) => await (await linking)?.close(how),
  };
}

function machineMemory({ stateDir }: SettingTexts, log: Log): MachineMemory {
  return new MachineMemory({
    folder: stateDir,
    log,
    makeId: randomUUID,
    ...optional('bootId', readBootId()),
  });
}

interface Sources extends DocumentSources {
  /** for people */
  readonly text: string;
}

function sourcesOf({ source }: SettingTexts): Sources {
  const { sources, directory } = parseSources(source);
  if (directory === undefined) return { sources, text: 'the API' };
  const files = resolve(directory);
  const text = sources.includes('api') ? `the API and files:${files}` : `files:${files}`;
  return { sources, directory: files, text };
}

async function createAgent(
  running: Running,
  addresses: LockedAddressTable,
  { telemetry, announcer }: BesideAgent,
): Promise<Agent> {
  const { settings, joinCheck, nodeName, log, world } = running;
  const isBack =
    running.settings.podName !== '' &&
    machineMemory(settings, log).takeRestart(nodeClock.wallTimeMs());
  const speaker = createAgentSpeaker(addresses, isBack);
  // or routers that know graceful restart would keep for its whole time what nobody serves any more
  const text = `herald on ${nodeName} ends at once`;
  world.onSuddenEnd(() => void speaker.stop({ kind: 'at-once', text }));
  const listenAddress = parseAddress(settings.listenAddress);
  const { sources, text: source } = sourcesOf(settings);
  const store = new SavedViewFile(join(settings.stateDir, 'view.json'), log);
  const savedView = store.load();
  const wanted = { nodeName, saved: savedView?.routerId, isBack };
  const routerId = parseRouterId(settings.routerId) ?? (await agentRouterId(addresses, wanted));
  const passwords = new FileTexts(fileThreads, 'password', () => agent.refreshPasswords());
  const agent = new Agent({
    clock: nodeClock,
    random: nodeRandom,
    speaker: telemetry?.timed(speaker) ?? speaker,
    listen: () => {
      void speaker.listen({
        port: Number(settings.listenPort),
        ...(listenAddress === undefined ? {} : { address: listenAddress }),
      });
    },
    addresses,
    discards: new RtnetlinkDiscardRoutes(() => addresses.keeper()),
    probe: nodeProbe,
    ...optional('kubeProxy', kubeProxyOf(settings)),
    readPassword: (path) => passwords.read(path),
    store: { load: () => savedView, drains: store.drains, save: (view) => store.save(view) },
    log,
    node: {
      name: nodeName,
      labels: { 'kubernetes.io/hostname': nodeName, ...parseLabels(settings.nodeLabels) },
    },
    ...(settings.asn === '' ? {} : { asn: Number(settings.asn) }),
    routerId,
    // the saved one has been looked at
    isRouterIdFixed: true,
    joinCheck,
    maxStaleMs: Number(settings.maxStale) * 1000,
    stopMoveMs: stopMoveMs(settings),
    stopMostMs: Math.max(0, Number(settings.stopGrace) - LAST_SECONDS) * 1000,
    isBack,
    source,
    sources,
    ...optional('announcer', announcer),
    cluster: {
      ...optional('bootId', readBootId()),
      ignoresExcludeLabel: settings.withController === 'true',
    },
    upMs: uptime() * 1000,
    clusterIdentity: () => running.way.access?.identity,
    version: world.version,
    pid: world.pid,
    warnings: (interfaces) => machineWarnings(interfaces, addresses),
  });
  return agent;
}

/** Withdrawals, the Cease and the last write of the IPNode need time, too. The only node of a cluster waits for nobody. */
function stopMoveMs({ stopGrace, withController }: SettingTexts): number {
  if (withController === 'true') return 0;
  return Math.max(0, Number(stopGrace) - STOP_MARGIN_SECONDS) * 1000;
}

function kubeProxyOf(settings: SettingTexts): KubeProxy | undefined {
  const { source, kubeProxyCheck, kubeProxyMetrics } = settings;
  if (!parseSources(source).sources.includes('api')) return undefined;
  const url = urlOf(kubeProxyCheck);
  return { ask: createAskHttp(), url, metricsUrl: urlOf(kubeProxyMetrics) };
}

function urlOf(text: string): string | undefined {
  return text === 'none' ? undefined : text;
}

function machineWarnings(
  interfaces: ReadonlySet<string>,
  addresses: LockedAddressTable,
): readonly string[] {
  const links = listed(() => addresses.links());
  const arp = [...interfaces].flatMap((name) => arpWarnings(name, links));
  return addresses.otherKeeper === undefined ? arp : [addresses.otherKeeper, ...arp];
}
