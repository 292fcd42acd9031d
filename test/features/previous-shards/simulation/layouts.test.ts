import { describe, it } from "vitest";
import { expectRepeatable, expectUnbroken, INTERLEAVINGS } from "../../../simulation/expected.ts";
import { exploreLayouts, replayLayouts } from "./interleaving.ts";

describe("the simulation of layouts", () => {
  it("breaks no guarantee in any order of steps while deployments of several layouts run side by side", async () => {
    expectUnbroken(await exploreLayouts(INTERLEAVINGS, 1));
  });

  it("takes the same steps again from the same seed", () => expectRepeatable(replayLayouts, 15));
});
