import fc from "fast-check";
import { describe, it } from "vitest";
import { shardCommands } from "../../../support/integration/model-commands.ts";
import { ModelShard } from "../../../support/integration/model-shard.ts";
import { standStill } from "../../../support/integration/standing-clock.ts";

describe("a shard in workerd", () => {
  standStill(["warn"]);

  it("answers and stores what the life cycle says, through any time steps, evictions, alarms and losses", async () => {
    await fc.assert(
      fc.asyncProperty(shardCommands, (sequence) =>
        fc.asyncModelRun(() => ({ model: { records: new Map() }, real: new ModelShard() }), sequence),
      ),
      { seed: 1, numRuns: 100, endOnFailure: true },
    );
  });
});
