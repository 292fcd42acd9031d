// The only race with a timer: a wait for a promise with a time limit.

/** Where the timers of a race come from. An object has its own, which cost less (kernel/object/timers.ts). */
export interface TimerSource<Timer> {
  set(afterMs: number, run: () => void): Timer;
}

export interface RaceTimer {
  cancel(): void;
}

const RUNTIME: TimerSource<RaceTimer> = {
  set: (afterMs, run) => {
    const timer = setTimeout(run, afterMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** The value of `promise`, or `null` after `ms`. Rejects when `promise` rejects before that. */
export function firstOf<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  return raceTimer(() => promise, ms, RUNTIME);
}

/** The same for the work that `begin` starts, which can move the time limit with the timer that it is given. */
export async function raceTimer<T, Timer extends RaceTimer>(
  begin: (timer: Timer) => Promise<T>,
  ms: number,
  timers: TimerSource<Timer>,
): Promise<T | null> {
  const { promise: timeUp, resolve } = Promise.withResolvers<null>();
  const timer = timers.set(ms, () => resolve(null));
  try {
    return await Promise.race([begin(timer), timeUp]);
  } finally {
    timer.cancel();
  }
}
