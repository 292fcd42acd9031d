// What an answer about a state means: each row of the table in src/kernel/verify/README.md.

import { describe, expect, it } from "vitest";
import type { VerificationFinding } from "../../../../src/kernel/record/verification-answer.ts";
import type { StoredState } from "../../../../src/kernel/verify/judge-state.ts";
import { COMPLETE, judged, type JudgedHow, LIST, stateFor } from "../../../support/unit/state-verification.ts";

const COMPLETE_OF = { pattern: "/checkout_sessions/:id/complete", path: "/checkout_sessions/cs_1/complete" };
const ORDER = { path: "/v1/orders", pattern: "/v1/orders", body: { reference: "r1", amount: 100 } };

const resource = await stateFor(COMPLETE, COMPLETE_OF);
const list = await stateFor(LIST, ORDER);

type Row = readonly [what: string, finding: VerificationFinding, body: unknown, how?: JudgedHow];

function each(state: StoredState, rows: readonly Row[]): void {
  for (const [what, expected, body, how] of rows) {
    it(`${what}: ${expected}`, () => {
      const { finding, response } = judged(state, body, how);
      expect({ finding, hasResponse: response !== null }).toEqual({
        finding: expected,
        hasResponse: expected === "happened",
      });
    });
  }
}

describe("the state of a resource", () => {
  each(resource, [
    ["a state that says so", "happened", { status: "completed" }],
    ["the other state that says so", "happened", { status: "complete_in_progress" }],
    ["a state that says that it did not", "not-happened", { status: "ready_for_complete" }],
    ["another state", "pending", { status: "canceled" }],
    ["no such member", "pending", { state: "completed" }],
    ["null there", "pending", { status: null }],
    ["another kind of value there", "pending", { status: 1 }],
    ["the state in other letters", "near-miss", { status: "Completed" }],
    ["a container there", "unreadable", { status: { now: "completed" } }],
    ["the name twice", "unreadable", '{"status":"ready_for_complete","status":"completed"}'],
    ["no JSON", "unreadable", "<html></html>"],
    ["no JSON in UTF-8", "unreadable", new Uint8Array([0x22, 0xff, 0x22])],
    ["an empty body", "unreadable", ""],
    ["a body that is too large", "unreadable", null],
    ["JSON that is too large", "unreadable", `{"status":"ready_for_complete"}${" ".repeat(256 * 1024)}`],
    ["JSON that is too deep", "unreadable", `${"[".repeat(1001)}${"]".repeat(1001)}`],
    ["compressed", "unreadable", { status: "ready_for_complete" }, { headers: { "content-encoding": "gzip" } }],
    [
      "not compressed, and said so",
      "happened",
      { status: "completed" },
      { headers: { "content-encoding": "identity" } },
    ],
    ["not happened, from a cache", "stale", { status: "ready_for_complete" }, { headers: { age: "3" } }],
    [
      "not happened, from a cache that has just asked",
      "not-happened",
      { status: "ready_for_complete" },
      { headers: { age: "0" } },
    ],
    ["happened, from a cache", "happened", { status: "completed" }, { headers: { age: "3" } }],
    ["not happened, told to another caller", "foreign", { status: "ready_for_complete" }, { credential: "another" }],
    ["happened, told to another caller", "happened", { status: "completed" }, { credential: "another" }],
    ["404", "missing", "", { status: 404 }],
    ["401", "rejected", { status: "ready_for_complete" }, { status: 401 }],
    ["403", "rejected", { status: "ready_for_complete" }, { status: 403 }],
    ["201", "unanswered", { status: "completed" }, { status: 201 }],
    ["206", "unanswered", { status: "ready_for_complete" }, { status: 206 }],
    ["304", "unanswered", "", { status: 304 }],
    ["500", "unanswered", { status: "ready_for_complete" }, { status: 500 }],
  ]);

  it("says where it has seen what", () => {
    expect(judged(resource, { status: "canceled" }).saw).toEqual({ at: "/status", value: '"canceled"' });
    expect(judged(resource, { status: "x".repeat(99) }).saw?.value).toHaveLength(64);
    expect(judged(resource, {}).saw).toEqual({ at: "/status", value: "absent" });
    expect(judged(resource, "", { status: 503 }).saw).toEqual({ at: "status", value: "503" });
    expect(judged(resource, "no").saw).toEqual({ at: "body", value: "not JSON" });
  });

  it("is open where it says both", async () => {
    const both = { ...COMPLETE, not_happened: { "/paid": [false] } };
    const state = await stateFor(both, COMPLETE_OF);
    expect(judged(state, { status: "completed", paid: false }).finding).toBe("contradictory");
    expect(judged(state, { status: "completed", paid: true }).finding).toBe("happened");
    expect(judged(state, { status: "COMPLETED", paid: false }).finding).toBe("near-miss");
  });

  it("needs all conditions", async () => {
    const state = await stateFor(
      { ...COMPLETE, happened: { "/status": ["completed"], "/total": [10.5], "/error": "absent" } },
      COMPLETE_OF,
    );
    expect(judged(state, { status: "completed", total: 10.5, error: null }).finding).toBe("happened");
    expect(judged(state, { status: "completed", total: 10.5, error: "x" }).finding).toBe("pending");
    expect(judged(state, { status: "completed", total: 10.6 }).finding).toBe("pending");
    expect(judged(state, { status: "completed", total: "10.50" }).finding).toBe("near-miss");
    expect(judged(state, '{"status":"completed","total":1.00000000000000000001}').finding).toBe("unreadable");
  });

  it("means by a 404 what its route says", async () => {
    const state = await stateFor({ ...COMPLETE, missing: "not_happened" }, COMPLETE_OF);
    expect(judged(state, "", { status: 404 }).finding).toBe("not-happened");
    expect(judged(state, "", { status: 404, credential: "another" }).finding).toBe("foreign");
    expect(judged(state, "", { status: 404, headers: { age: "1" } }).finding).toBe("stale");
  });

  it("is never of a person alone who says no, if nothing says no", async () => {
    const { not_happened: _, ...only } = COMPLETE;
    const state = await stateFor(only, COMPLETE_OF);
    expect(judged(state, { status: "ready_for_complete" }).finding).toBe("pending");
  });
});

describe("a list", () => {
  const ours = { id: "o1", reference: "r1", amount: 100 };
  const other = { id: "o2", reference: "r2", amount: 100 };
  each(list, [
    ["one of this operation", "happened", { data: [other, ours], has_more: false }],
    ["one of this operation in a part of the list", "happened", { data: [ours], has_more: true }],
    ["a number in text", "happened", { data: [{ ...ours, amount: "100" }], has_more: false }],
    ["none of this operation", "not-happened", { data: [other], has_more: false }],
    ["no element", "not-happened", { data: [], has_more: false }],
    ["none in a part of the list", "incomplete", { data: [other], has_more: true }],
    ["none, and nothing says that this is all", "incomplete", { data: [other] }],
    ["two of this operation", "doubled", { data: [ours, other, ours], has_more: false }],
    ["one with another amount", "not-happened", { data: [{ ...ours, amount: 101 }], has_more: false }],
    ["one in other letters", "near-miss", { data: [{ ...ours, reference: "R1" }], has_more: false }],
    ["one with zeros after the point", "near-miss", { data: [{ ...ours, amount: "100.00" }], has_more: false }],
    ["one with spaces around it", "near-miss", { data: [{ ...ours, reference: " r1" }], has_more: false }],
    ["no element has the member", "unreadable", { data: [{ id: "o1", ref: "r1", amount: 100 }], has_more: false }],
    ["one of them has it", "not-happened", { data: [{ id: "o1", amount: 100 }, other], has_more: false }],
    ["a container in its place", "unreadable", { data: [{ ...ours, reference: { id: "r1" } }], has_more: false }],
    [
      "a name twice in an element",
      "unreadable",
      '{"data":[{"reference":"r2","reference":"r1","amount":100}],"has_more":false}',
    ],
    ["elements that are no objects", "unreadable", { data: ["r1"], has_more: false }],
    ["no array", "unreadable", { data: {}, has_more: false }],
    ["nothing there", "unreadable", { error: "soon", has_more: false }],
    ["the array twice", "unreadable", '{"data":[],"data":[],"has_more":false}'],
    [
      "more elements than are looked at",
      "unreadable",
      { data: Array.from({ length: 1001 }, () => ({})), has_more: false },
    ],
    ["none, from a cache", "stale", { data: [], has_more: false }, { headers: { age: "1" } }],
    ["none, told to another caller", "foreign", { data: [], has_more: false }, { credential: "another" }],
    ["one, told to another caller", "happened", { data: [ours], has_more: false }, { credential: "another" }],
    ["404", "missing", "", { status: 404 }],
  ]);

  it("may be the whole body, and complete by a header that is not there", async () => {
    const state = await stateFor({ ...LIST, list: "", complete: { "header:Link": "absent" } }, ORDER);
    expect(judged(state, [other]).finding).toBe("not-happened");
    expect(judged(state, [other], { headers: { link: '<?page=2>; rel="next"' } }).finding).toBe("incomplete");
    expect(judged(state, [ours], { headers: { link: '<?page=2>; rel="next"' } }).finding).toBe("happened");
  });

  it.each([
    ["12345678901234567890", "12345678901234567000"],
    ["12345678901234567890", "1.2345678901234567e19"],
    ['"1e2"', "100"],
    ['"-0.0"', "0"],
    ['"a  b"', '"a b"'],
    ['"Straße"', '"STRASSE"'],
  ])("of %s is not taken for one without it because it has %s", async (written, answered) => {
    const state = await stateFor(
      { ...LIST, path: "/v1/orders" },
      { ...ORDER, body: `{"reference":${written},"amount":1}` },
    );
    expect(judged(state, `{"data":[{"reference":${answered},"amount":1}],"has_more":false}`).finding).toBe("near-miss");
  });

  it("does not take two numbers in text for one because a double cannot tell them", async () => {
    const state = await stateFor(LIST, { ...ORDER, body: { reference: "175928847299117063", amount: 1 } });
    const next = { reference: "175928847299117064", amount: 1 };
    expect(judged(state, { data: [next], has_more: false }).finding).toBe("not-happened");
  });

  it("does not say no of an element with the request's values in another state", async () => {
    const match = { "/reference": ["{json:/reference}"], "/status": ["paid"], "/canceled_at": "absent" };
    const state = await stateFor({ ...LIST, match }, ORDER);
    const paid = { reference: "r1", status: "paid" };
    expect(judged(state, { data: [paid], has_more: false }).finding).toBe("happened");
    expect(judged(state, { data: [{ ...paid, reference: "r2" }], has_more: false }).finding).toBe("not-happened");
    for (const one of [
      { ...paid, status: "processing" },
      { ...paid, canceled_at: 7 },
      { ...paid, reference: "R1", status: "x" },
    ])
      expect(judged(state, { data: [one], has_more: false }).finding).toBe("pending");
    expect(judged(state, { data: [{ ...paid, status: "processing" }], has_more: false }).saw).toEqual({
      at: "/status",
      value: '"processing"',
    });
  });

  it("says how many it has seen", () => {
    expect(judged(list, { data: [ours, other], has_more: true }).saw).toEqual({
      at: "/data",
      value: "2 elements, 1 of this operation",
    });
    expect(judged(list, { data: [], has_more: true }).saw).toEqual({ at: "/has_more", value: "true" });
  });

  it("compares a text of 256 KiB of zeros in no time", () => {
    const begun = performance.now();
    expect(judged(list, { data: [{ ...ours, reference: "0".repeat(250_000) + "x" }], has_more: false }).finding).toBe(
      "not-happened",
    );
    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});

describe("an entity tag against If-Match", () => {
  const ETAG = { path: "/orders/{path:id}", not_happened: { "header:ETag": ["{header:If-Match}"] }, answer: "none" };
  const tagged = (tag: string): Promise<StoredState> =>
    stateFor({ ...ETAG, settle: "0s" }, { headers: { "If-Match": tag } });

  it("is the version that the client named, so nothing happened", async () => {
    const state = await tagged('"v1"');
    expect(judged(state, {}, { headers: { etag: '"v1"' } }).finding).toBe("not-happened");
    for (const etag of ['"v2"', 'W/"v1"', "v1", '"V1"', '"v1", "v1"', "*"])
      expect(judged(state, {}, { headers: { etag } }).finding).toBe("pending");
    expect(judged(state, {}).finding).toBe("pending");
  });

  it.each(['W/"v1"', "*", '"v1", "v2"', "v1", '"v1'])("is nothing to ask with for If-Match: %s", async (tag) => {
    await expect(tagged(tag)).rejects.toThrow("cannot be asked about");
  });
});

describe("the response that retries get", () => {
  it("is the bytes of the resource", () => {
    const text = '{ "status":"completed",\n "total": 1.50 }';
    const { response } = judged(resource, text);
    expect(response).toEqual({ status: 200, bytes: new TextEncoder().encode(text), location: null });
  });

  it("is the bytes of the element, with a status and a location", () => {
    const element = '{"reference" : "r1", "amount":1e2, "id":"ö 1"}';
    const { response } = judged(list, `{"ä":1,"data":[ {"reference":"r2","amount":1} , ${element}],"has_more":false}`);
    expect(new TextDecoder().decode(response?.bytes ?? undefined)).toBe(element);
    expect(response).toMatchObject({ status: 201, location: "/v1/orders/%C3%B6%201" });
  });

  it.each([undefined, "", "..", "a/b", "a?b", {}])("has no location of an id such as %j", (id) => {
    const { finding, response } = judged(list, { data: [{ id, reference: "r1", amount: 100 }] });
    expect({ finding, location: response?.location }).toEqual({ finding: "happened", location: null });
  });

  it("has no body where its route says so", async () => {
    const state = await stateFor({ ...COMPLETE, answer: "none" }, COMPLETE_OF);
    expect(judged(state, { status: "completed" }).response).toEqual({ status: 200, bytes: null, location: null });
  });
});
