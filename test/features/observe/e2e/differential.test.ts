// The same bytes sent through a Worker that only forwards, and through the gateway on a route that is only observed. Whatever is different is in the list of
// what is different where no route protects, also while the objects fail, or never answer. A longer run: ONCEWAY_DIFFERENTIAL_CASES=20000.

import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { BY_PASSING } from "../../../support/e2e/wire-allowances.ts";
import { type CaseKind, wireCases } from "../../../support/e2e/wire-cases.ts";
import { compareAll, expectNoneButAllowed } from "../../../support/e2e/wire-run.ts";
import { type Seen, startWays } from "../../../support/e2e/wire-ways.ts";
import { isLong } from "../../../support/long.ts";

const CASES = Number(process.env["ONCEWAY_DIFFERENTIAL_CASES"] ?? (isLong ? 1_000 : 120));
const SEED = Number(process.env["ONCEWAY_DIFFERENTIAL_SEED"] ?? 1);
/** That the objects do not answer takes no other way with each. */
const few = Math.ceil(CASES / 4);
const TIMEOUT_MS = 120_000 + CASES * 50;

const OBSERVED: CaseKind = {
  methods: ["POST", "POST", "PUT", "PATCH", "DELETE"],
  prefix: "/observed",
  headers: () => [["Idempotency-Key", randomUUID()]],
  statuses: [200, 200, 201, 204, 206, 299, 301, 304, 404, 422, 500, 503, 599, 600, 999],
};

/** Some targets lead out of the route (`/observed/../x`). */
const isObserved = ({ requests }: Seen): boolean => /^\/observed(?:[/?]|$)/.test(requests[0]?.target ?? "");

const main = (name: string): string => fileURLToPath(new URL(`../../../workers/${name}.ts`, import.meta.url));

describe("an observed route answers as a Worker that only forwards", () => {
  it.each([
    ["while the objects look on", undefined, 1, CASES],
    ["while the objects fail", main("dead-objects"), 2, few],
    ["while the objects never answer", main("hanging-objects"), 3, few],
  ])(
    "%s",
    async (_when, entry, seed, cases) => {
      const route = { path: "/observed/*", methods: ["POST", "PUT", "PATCH", "DELETE"], mode: "observe" };
      const ways = await startWays([{ ...route, observe: { effect: "/id" } }], entry);
      try {
        const compared = await compareAll(wireCases(OBSERVED, cases, SEED + seed), BY_PASSING, async (of) => [
          await ways.plain.send(of),
          await ways.gateway.send(of),
        ]);
        const observed = compared.filter(({ one }) => isObserved(one));
        expect(observed.length).toBeGreaterThan(cases / 3);
        expectNoneButAllowed(observed, BY_PASSING);
        for (const { one, other } of observed) expect(other.requests).toHaveLength(one.requests.length);
      } finally {
        await ways.close();
      }
    },
    TIMEOUT_MS,
  );
});
