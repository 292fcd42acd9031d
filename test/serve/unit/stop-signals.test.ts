import { EventEmitter } from "node:events";

import { expect, it } from "vitest";

import { stopSignals } from "../../../src/serve/stop-signals.ts";

it.each(["SIGTERM", "SIGINT", "SIGHUP"])("the first %s asks to finish, a later one to end at once", (signal) => {
  const source = new EventEmitter();
  let nowMs = 5_000;
  const { drain, end } = stopSignals(source, () => nowMs);
  expect([drain.aborted, end.aborted]).toEqual([false, false]);
  source.emit(signal);
  expect([drain.aborted, end.aborted]).toEqual([true, false]);
  nowMs += 1_001;
  source.emit("SIGTERM");
  expect(end.aborted).toBe(true);
});

it("treats a signal that npm and the terminal both send as one request", () => {
  const source = new EventEmitter();
  let nowMs = 0;
  const { end } = stopSignals(source, () => nowMs);
  source.emit("SIGINT");
  for (const laterMs of [0, 30, 1_000]) {
    nowMs = laterMs;
    source.emit("SIGINT");
  }
  expect(end.aborted).toBe(false);
});
