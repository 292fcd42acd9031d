import { describe, it } from "vitest";
import { expectRepeatable, expectUnbroken, INTERLEAVINGS } from "./expected.ts";
import { explore, replay } from "./explore.ts";
import { BROKEN_EXTRAS, extrasWithout } from "./plan.ts";

describe("the simulation", () => {
  it("breaks no guarantee in any order of steps, with faults between any two of them", async () => {
    expectUnbroken(await explore(INTERLEAVINGS, 1, () => undefined, extrasWithout(BROKEN_EXTRAS)));
  });

  it("takes the same steps again from the same seed", () => expectRepeatable(replay, 25));
});
