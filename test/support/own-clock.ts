/**
 * How long something took by the timers of this very process, in tenths of a second: where the machine holds the process up, it holds up these
 * with those that are looked at, so that an upper bound says something of the timer and nothing of the machine.
 */
export async function tenthsDuring<T>(
  work: Promise<T>,
): Promise<{ readonly tenths: number; readonly result: T }> {
  let tenths = 0;
  const ticking = setInterval(() => {
    tenths += 1;
  }, 100);
  try {
    const result = await work;
    return { result, tenths };
  } finally {
    clearInterval(ticking);
  }
}
