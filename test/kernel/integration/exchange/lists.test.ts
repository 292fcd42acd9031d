import { expect, it } from "vitest";
import { withExchanges } from "../../../support/integration/held-exchanges.ts";

it("an object does at its alarm all of this, in this order", () =>
  withExchanges(async ({ dues }) => {
    expect(dues.map(({ name }) => name)).toEqual([
      "clock",
      "discarded bodies",
      "excerpts",
      "bodies in the bucket",
      "expired records",
      "locks",
      "verifications",
      "accepted requests", // feature: accepted
      "events", // feature: outbox
      "alerts", // feature: outbox
      "sightings", // feature: observe
      "enrolment", // feature: placement
    ]);
  }));

it("in a step of a record these take part, in this order", () =>
  withExchanges(async ({ hooks }) => {
    expect(hooks.map(({ name }) => name)).toEqual([
      "events", // feature: outbox
      "dead letters", // feature: outbox
      "alerts", // feature: outbox
      "enrolment", // feature: placement
      "previous-shards", // feature: previous-shards
      "counts",
    ]);
  }));
