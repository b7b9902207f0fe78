/** One check: what is asked, how often, and how many answers in a row change the verdict. Data only; src/checks runs it. */

export interface CheckSpec {
  readonly target: CheckTarget;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** in a row, to open */
  readonly successes: number;
  /** in a row, to close */
  readonly failures: number;
  /** how long the successes must have lasted before it opens; counts from the first of them */
  readonly settleMs: number;
  /** all of the machine waits for it: no claim's files or names may hold it up */
  readonly isNodeWide?: true;
}

export type CheckTarget =
  | {
      readonly kind: 'http';
      /** http:// or https://; 200 to 399 is a success */
      readonly url: string;
      /** PEM file of the authority that signed the server's certificate; read at every attempt, so that it may come late or change */
      readonly caFile?: string;
      /** SHA-256 of the server's certificate (DER), 64 lower-case hex digits */
      readonly pin?: string;
      /** what is said of a failure is the status and nothing that the server wrote: its asker may not be allowed to read that */
      readonly isDiscreet?: true;
    }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  /** passes while the file exists */
  | { readonly kind: 'file'; readonly path: string }
  /** passes when it ends with status 0; no shell */
  | { readonly kind: 'exec'; readonly command: readonly string[] };

export const CHECK_DEFAULTS = {
  intervalMs: 1000,
  timeoutMs: 1000,
  successes: 2,
  failures: 3,
  settleMs: 0,
} as const;
