// What an answer about a state says, over any answer: a "did not happen" that is wrong would be a second effect.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VERIFICATION_FINDINGS } from "../../../src/kernel/record/verification-answer.ts";
import { COMPLETE, judged, LIST, stateFor } from "../../support/unit/state-verification.ts";

const RUNS = { numRuns: 2000 };
const list = await stateFor(LIST, {
  path: "/v1/orders",
  pattern: "/v1/orders",
  body: { reference: "Ref-1", amount: 10 },
});
const resource = await stateFor(COMPLETE, { path: "/checkout_sessions/a", pattern: "/checkout_sessions/:id" });

/** Spellings of the request's reference, and others. */
const OURS = ["Ref-1", "ref-1", " REF-1 ", "Ref-1", "Ref\u002d1"];
const OTHERS = ["Ref-2", "", null, 7, true];
const AMOUNTS = [10, "10", "10.00", 11, null];

const element = fc.record(
  { id: fc.string(), reference: fc.constantFrom(...OURS, ...OTHERS), amount: fc.constantFrom(...AMOUNTS) },
  { requiredKeys: ["id"] },
);
const page = fc.record({ data: fc.array(element, { maxLength: 5 }), has_more: fc.boolean() });
const asked = fc.record({
  credential: fc.constantFrom("claim" as const, "another" as const),
  headers: fc.constantFrom({}, { age: "0" }, { age: "1" }, { "content-encoding": "gzip" }),
  status: fc.constantFrom(200, 200, 200, 201, 404, 403, 500),
});

const isOurs = (one: Readonly<Record<string, unknown>>): boolean =>
  String(one["reference"]).trim().toLowerCase() === "ref-1" && Number(one["amount"]) === 10 && one["amount"] !== null;

describe("what an answer says", () => {
  it("is one of the findings, for any bytes whatever", () => {
    const any = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => new TextEncoder().encode(text)),
    );
    fc.assert(
      fc.property(any, asked, (body, how) => {
        for (const state of [list, resource]) {
          const { finding, response } = judged(state, body, how);
          expect(VERIFICATION_FINDINGS).toContain(finding);
          expect(response !== null).toBe(finding === "happened");
        }
      }),
      RUNS,
    );
  });

  it("is never that nothing happened if an element is this operation's, in whatever spelling", () => {
    fc.assert(
      fc.property(page, asked, (body, how) => {
        const { finding } = judged(list, body, how);
        if (finding === "not-happened") expect(body.data.filter(isOurs)).toEqual([]);
        if (finding === "happened") expect(body.data.filter(isOurs)).not.toEqual([]);
      }),
      RUNS,
    );
  });

  it("is never that nothing happened of a part, from a cache, to another caller, or compressed", () => {
    fc.assert(
      fc.property(page, asked, (body, { credential, headers, status }) => {
        const { finding } = judged(list, body, { credential, headers, status });
        if (finding !== "not-happened") return;
        expect({ credential, status, more: body.has_more }).toEqual({ credential: "claim", status: 200, more: false });
        expect([{}, { age: "0" }]).toContainEqual(headers);
      }),
      RUNS,
    );
  });

  it("gives the element's own bytes", () => {
    fc.assert(
      fc.property(fc.array(element, { maxLength: 3 }), fc.jsonValue(), fc.nat(3), (others, extra, at) => {
        const ours = { id: "ü", extra, reference: "Ref-1", amount: 10 };
        const data: object[] = others.filter((one) => !isOurs(one));
        data.splice(Math.min(at, data.length), 0, ours);
        const { finding, response } = judged(list, JSON.stringify({ data, has_more: false }, null, 1));
        if (finding !== "happened") return;
        expect(JSON.parse(new TextDecoder().decode(response?.bytes ?? undefined))).toEqual(
          JSON.parse(JSON.stringify(ours)),
        );
      }),
      RUNS,
    );
  });
});
