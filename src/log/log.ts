/**
 * Log lines: an event name from a fixed list, fields by fixed names, a short message. Shells log; pure code returns facts. This is the
 * interface that they take as an argument; pino-log.ts is the real one, and tests may pass one that keeps the lines.
 */

export type LogEvent =
  | 'agent.start'
  | 'agent.stop'
  | 'agent.stale'
  | 'agent.join'
  | 'agent.drain'
  | 'agent.warning'
  | 'agent.identity'
  | 'agent.lease'
  | 'agent.fence'
  | 'agent.report'
  | 'agent.restart'
  | 'bgp.transition'
  | 'bgp.established'
  | 'bgp.down'
  | 'bgp.notification'
  | 'bgp.listen'
  | 'bgp.refused'
  | 'claim.route'
  | 'claim.bind'
  | 'aggregate.discard'
  | 'controller.start'
  | 'controller.stop'
  | 'controller.lead'
  | 'controller.event'
  | 'controller.status'
  | 'controller.blind'
  | 'controller.kubelets'
  | 'controller.move'
  | 'documents.refused'
  | 'documents.loaded'
  | 'kube.synced'
  | 'kube.missing'
  | 'kube.retry'
  | 'kube.server'
  | 'pool.retry'
  | 'process.turn'
  | 'service.retry'
  | 'state.foreign'
  | 'state.save';

/** Never a secret among them; pino-log.ts also redacts what looks like one. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  /** a change that an operator acts on */
  info(event: LogEvent, fields: LogFields, message: string): void;
  /** we recover by ourselves */
  warn(event: LogEvent, fields: LogFields, message: string): void;
  /** someone must act */
  error(event: LogEvent, fields: LogFields, message: string): void;
  debug(event: LogEvent, fields: LogFields, message: string): void;
}

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** says nothing */
export const SILENT_LOG: Log = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  debug: () => undefined,
};
