/** A BGPPeer and an IPPool as the API stores them, with the defaults of their CRDs filled in. A test names only what it is about. */

export const storedPool = (name: string, addresses: readonly string[] = ['198.51.100.0/24']) => ({
  metadata: { name },
  spec: {
    addresses,
    avoidFirstLast: false,
    autoAssign: true,
    priority: 0,
    placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 },
    drain: { on: ['stop'], waitSeconds: 10 },
    notReady: 'keep',
  },
});

export const storedPeer = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: {
    address: '192.0.2.1',
    port: 179,
    asn: 64_500,
    families: ['ipv4'],
    timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
    maxRoutes: 500,
    ...spec,
  },
});
