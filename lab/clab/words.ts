/** What containerlab and Docker say, as data. Pure. */

export interface Container {
  readonly id: string;
  readonly name: string;
  readonly isPrivileged: boolean;
  readonly isRunning: boolean;
  readonly addedCapabilities: readonly string[];
}

/** The answer of `docker inspect`. */
export function containersOf(text: string): readonly Container[] {
  const told: unknown = JSON.parse(text);
  if (!Array.isArray(told)) throw new Error('docker inspect does not answer with a list.');
  return told.map((each: unknown) => {
    const { Id: id, Name: name, HostConfig: host, State: state } = Object(each);
    const { Privileged: isPrivileged, CapAdd: capabilities } = Object(host);
    // what is not said is not "no"
    if (typeof isPrivileged !== 'boolean')
      throw new Error(`docker inspect does not say whether ${name} is privileged.`);
    return {
      id: String(id),
      name: String(name).replace(/^\//, ''),
      isPrivileged,
      isRunning: Object(state).Running === true,
      addedCapabilities: capabilityNames(capabilities),
    };
  });
}

/** Some versions of Docker say CAP_NET_ADMIN, some NET_ADMIN. */
function capabilityNames(told: unknown): readonly string[] {
  return Array.isArray(told) ? told.map((each) => String(each).replace(/^CAP_/, '')) : [];
}

/** Lines of containerlab's log that tell of an error, each with the lines that belong to it. */
export function troubles(log: string): readonly string[] {
  const entries: string[] = [];
  for (const line of log.split('\n')) {
    if (/^\d\d:\d\d:\d\d [A-Z]{4} /.test(line)) entries.push(line.slice(9));
    else if (entries.length > 0) entries.push(`${entries.pop()} ${line.trim()}`.trim());
  }
  return entries.filter((entry) => /^(ERRO|FATA) /.test(entry)).map((entry) => entry.slice(5));
}

/** The text of /etc/hosts without what containerlab writes there for a lab. */
export function withoutLab(hosts: string, name: string): string {
  const [start, end] = ['START', 'END'].map((word) => `###### CLAB-${name}-${word} ######`);
  const lines = hosts.split('\n');
  const [first, last] = [lines.indexOf(start ?? ''), lines.indexOf(end ?? '')];
  if (first < 0 || last < first) return hosts;
  return lines.toSpliced(first, last - first + 1).join('\n');
}
