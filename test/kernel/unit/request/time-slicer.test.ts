import { describe, expect, it } from "vitest";
import { TimeSlicer } from "../../../../src/kernel/request/time-slicer.ts";

/** Work of several slices that logs what it does. */
function* work(name: string, slices: number, said: string[]): Generator<undefined, string> {
  for (let slice = 1; slice < slices; slice++) {
    said.push(`${name}${slice}`);
    yield;
  }
  said.push(`${name}${slices}`);
  return name;
}

/** Time that passes only when all work pauses, and pauses that never end. */
class Clock {
  time = 0;
  readonly #pauses: { readonly at: number; readonly resume: () => void }[] = [];
  /** The next work that pauses never continues. */
  losesNext = false;

  readonly now = (): number => this.time;
  readonly pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (!this.losesNext) this.#pauses.push({ at: this.time + ms, resume: resolve });
      this.losesNext = false;
    });

  /** Runs until no work pauses. */
  async run(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      this.#pauses.sort((one, other) => one.at - other.at);
      const next = this.#pauses.shift();
      if (next === undefined) return;
      this.time = Math.max(this.time, next.at);
      next.resume();
    }
  }
}

describe("work in slices", () => {
  it("pauses after each slice but the last", async () => {
    const clock = new Clock();
    const pauses: number[] = [];
    const said: string[] = [];
    const slicer = new TimeSlicer({
      now: clock.now,
      pause: (ms) => {
        pauses.push(ms);
        return clock.pause(ms);
      },
    });
    const done = slicer.run(work("a", 4, said));
    await clock.run();
    expect(await done).toBe("a");
    expect(pauses).toEqual([0, 0, 0]);
    expect(said).toEqual(["a1", "a2", "a3", "a4"]);
  });

  it("runs one at a time, so that only one holds a partial result", async () => {
    const clock = new Clock();
    const slicer = new TimeSlicer(clock);
    const said: string[] = [];
    const all = ["a", "b", "c"].map((name) => slicer.run(work(name, 3, said)));
    await clock.run();
    expect(await Promise.all(all)).toEqual(["a", "b", "c"]);
    // The first slice of each shows whether there is more to do.
    expect(said).toEqual(["a1", "b1", "c1", "a2", "a3", "b2", "b3", "c2", "c3"]);
  });

  it("does not wait when one slice is enough", async () => {
    const clock = new Clock();
    const slicer = new TimeSlicer(clock);
    const said: string[] = [];
    const long = slicer.run(work("long", 3, said));
    expect(await slicer.run(work("short", 1, said))).toBe("short");
    await clock.run();
    await long;
  });

  it("takes turns in the order in which the work came, whenever each of them looks", async () => {
    const clock = new Clock();
    const slicer = new TimeSlicer(clock);
    const said: string[] = [];
    const names = Array.from({ length: 20 }, (_, at) => String.fromCharCode(97 + at));
    const all = names.map((name) => slicer.run(work(name, 2, said)));
    const doneAt = Promise.all(all).then(() => clock.time);
    await clock.run();
    expect(said.slice(20)).toEqual(names.map((name) => `${name}2`));
    // Nobody waits for the next look.
    expect(await doneAt).toBe(0);
  });

  it("gives the turn of a client that has gone to the next one at once, and wakes none that have gone", async () => {
    const clock = new Clock();
    const slicer = new TimeSlicer(clock);
    const said: string[] = [];
    const gone = Array.from({ length: 50 }, () => new AbortController());
    for (const { signal } of gone) {
      clock.losesNext = true;
      void slicer.run(work("gone", 5, said), { signal });
    }
    const nextAt = slicer.run(work("next", 3, said)).then(() => clock.time);
    for (const one of gone) one.abort();
    await clock.run();
    expect(await nextAt).toBe(0);
    expect(said.filter((one) => one.startsWith("next"))).toEqual(["next1", "next2", "next3"]);
  });

  it("continues when the runtime has dropped the running work because its client left", async () => {
    const clock = new Clock();
    const slicer = new TimeSlicer(clock);
    const said: string[] = [];
    clock.losesNext = true;
    void slicer.run(work("lost", 5, said));
    const next = slicer.run(work("next", 2, said));
    await clock.run();
    expect(await next).toBe("next");
    expect(said).toEqual(["lost1", "next1", "next2"]);
    expect(clock.time).toBe(100);
  });

  it("continues when the running work fails", async () => {
    const clock = new Clock();
    const slicer = new TimeSlicer(clock);
    const failing = (function* fail(): Generator<undefined, string> {
      yield;
      throw new Error("no");
    })();
    const failed = slicer.run(failing).catch(String);
    const next = slicer.run(work("next", 2, []));
    await clock.run();
    expect(await failed).toBe("Error: no");
    expect(await next).toBe("next");
  });
});
