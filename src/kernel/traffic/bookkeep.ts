// Bookkeeping beside an operation: counts, logs, the alarm, knowledge about an origin. It may fail for reasons of its own (a full
// disk, a platform limit), and such a failure must never change the result of the operation.

/** Calls `run`. A failure is logged under the name `what` and does not affect the caller. */
export function logFailure(what: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    console.error({ message: `${what} failed`, reason: String(error) });
  }
}
