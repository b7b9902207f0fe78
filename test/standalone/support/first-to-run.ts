/**
 * For a program that stamps what it reads: it runs before every ordinary process, where that is allowed, or its stamps are late on a busy
 * machine.
 */

export const firstToRun = (command: string): readonly [string, readonly string[]] => [
  'sh',
  ['-c', `chrt -f 50 true 2>/dev/null && exec chrt -f 50 ${command}; exec ${command}`],
];
