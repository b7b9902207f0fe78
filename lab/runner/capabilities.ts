/** The capabilities of a container that is not privileged: Docker's defaults and what is added, as setpriv's bounding set. */

const dockerDefaults = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD'],
  ...['NET_BIND_SERVICE', 'NET_RAW', 'SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];

export function boundingSet(added: readonly string[]): string {
  const names = [...new Set([...dockerDefaults, ...added])].toSorted();
  return ['-all', ...names.map((name) => `+${name.toLowerCase()}`)].join(',');
}
