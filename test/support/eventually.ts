// What has to come to pass: asked until it has. The clock of a test stands still meanwhile, where `vi.waitFor` would move it.

/** The platform's own, whatever a test puts in its place. */
const { setTimeout: later } = globalThis;

const INTERVAL_MS = 10;
/** For a minute at least: what must succeed may take long on a machine with other work. */
const POLLS = 6_000;

/** Resolves with what `check` returns once it throws no more. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  for (let polls = 1; ; polls += 1) {
    try {
      return await check();
    } catch (error) {
      if (polls === POLLS) throw error;
    }
    await new Promise<void>((resolve) => {
      later(resolve, INTERVAL_MS);
    });
  }
}
