// Bookkeeping beside an operation: counts, logs, the alarm, what is remembered of an origin. It may fail for reasons of its
// own (a full disk, a limit of the platform), and an operation must never be judged by that.

/** Runs it; a failure is logged under the name `what`, and changes nothing for whoever called. */
export function bookkeep(what: string, run: () => void): void {
  try {
    run();
  } catch (error) {
    console.error({ message: `${what} failed`, reason: String(error) });
  }
}
