/**
 * Tests that mostly wait (a hold time, a retry), all started together: the ring takes as long as the longest of them, and each
 * still passes or fails under its own name.
 */

export interface WaitingTest {
  readonly name: string;
  readonly run: () => Promise<void>;
}

export function itConcurrently(tests: readonly WaitingTest[]): void {
  const outcomes = new Map<string, Promise<unknown>>();

  before('start all of them', () => {
    for (const { name, run } of tests) {
      // a failure is kept for the test that it belongs to
      const outcome = run().then(
        () => undefined,
        (error: unknown) => error ?? new Error('failed without a reason'),
      );
      outcomes.set(name, outcome);
    }
  });

  for (const { name } of tests) {
    it(name, async () => {
      const failure = await outcomes.get(name);
      if (failure !== undefined) throw failure;
    });
  }
}
