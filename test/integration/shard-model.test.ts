import fc from "fast-check";
import { afterAll, afterEach, beforeEach, describe, it, vi } from "vitest";
import { shardCommands } from "./support/model-commands.ts";
import { ModelShard } from "./support/model-shard.ts";

describe("a shard in workerd", () => {
  beforeEach(() => {
    // Time stands still but for what a command makes pass; timers run on.
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  it("answers and remembers as the life cycle says, whatever time, evictions, alarms and losses do between", async () => {
    await fc.assert(
      fc.asyncProperty(shardCommands, (sequence) =>
        fc.asyncModelRun(() => ({ model: { records: new Map() }, real: new ModelShard() }), sequence),
      ),
      { seed: 1, numRuns: 100, endOnFailure: true },
    );
  }, 60_000);
});
