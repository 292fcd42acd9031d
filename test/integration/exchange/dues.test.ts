import { expect, it } from "vitest";
import { withExchanges } from "../support/held-exchanges.ts";

it("an object does at its alarm all of this, in this order", () =>
  withExchanges(async ({ dues }) => {
    expect(dues.map(({ name }) => name)).toEqual([
      "clock",
      "discarded bodies",
      "excerpts",
      "bodies in the bucket",
      "expired records",
      "locks",
      "accepted requests",
      "questions",
      "events",
      "alerts",
    ]);
  }));
