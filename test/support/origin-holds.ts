// Requests that the test origin holds until it is told to go on. A hold is registered in the same turn in which the
// request counts as arrived, so a test that has seen the arrival can always release it.

export interface Hold {
  readonly released: Promise<void>;
}

export interface Holds {
  add(key: string | null): Hold;
  /** Null releases all. Returns how many went on. */
  release(key: string | null): number;
}

export function createHolds(): Holds {
  const held = new Set<{ readonly key: string | null; readonly open: () => void }>();
  return {
    add(key) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.add({ key, open: resolve });
      return { released: promise };
    },
    release(key) {
      let count = 0;
      for (const hold of held) {
        if (key !== null && hold.key !== key) continue;
        held.delete(hold);
        hold.open();
        count += 1;
      }
      return count;
    },
  };
}
