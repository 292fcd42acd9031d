// The parts of a scope that say what a request is about never let two callers meet, and keep the records of one caller apart exactly where their
// values differ. The expected values come from JSON.parse, never from the code under test.

import fc from "fast-check";
import { expect, it } from "vitest";
import { parseScope, parseScopeEntry, type ScopePart } from "../../../src/kernel/config/scope-part.ts";
import type { HeldOrFlowing } from "../../../src/kernel/request/body.ts";
import { nameRecord } from "../../../src/kernel/request/record-name.ts";
import { jsonParts } from "../../../src/kernel/request/scope-in-body.ts";
import { NO_PROOFS, readScope } from "../../../src/kernel/request/scope.ts";

const WORDS = ["a", "b", "", "path", "/a", "route:x", "json:/a", "null", '"a"', "header:x-caller"] as const;
const word = fc.constantFrom(...WORDS);
const value = fc.oneof(
  { depthSize: "small" },
  fc.constantFrom(null, true, 0, -0, 1, 1.5, "", "a", "null", "/a"),
  fc.array(word, { maxLength: 2 }),
  fc.dictionary(word, fc.constantFrom(1, "a", null), { maxKeys: 2, noNullPrototype: true }),
);

interface Sent {
  /** `null`: without the header. */
  readonly caller: string | null;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const sent: fc.Arbitrary<Sent> = fc.record({
  caller: fc.option(word),
  path: word.map((name) => `/v1/${encodeURIComponent(name)}`),
  body: fc.dictionary(fc.constantFrom("a", "b"), value, { maxKeys: 2, noNullPrototype: true }),
});

/** Any of the parts in any order, the caller's among them. */
const scopes = fc
  .shuffledSubarray(["path", "route:x", "json:/a", "json:/b"])
  .chain((parts) => fc.shuffledSubarray(["header:x-caller", ...parts], { minLength: parts.length + 1 }))
  .map((written): readonly ScopePart[] => {
    const parts = parseScope(written.flatMap((one) => readEntry(one)));
    if (!parts.ok) throw new Error(parts.message);
    return parts.value;
  });

function readEntry(written: string): readonly ScopePart[] {
  const part = parseScopeEntry(written);
  return part.ok && part.value !== null ? [part.value] : [];
}

/** What a body of this text has at `/a`. */
async function partIn(text: string): Promise<unknown> {
  const route = { scope: readEntry("json:/a"), previousScopes: [] };
  const bytes = new TextEncoder().encode(text);
  const body: HeldOrFlowing = { kind: "whole", body: { bytes, free: () => undefined } };
  return (await jsonParts({ headers: new Headers(), route, request: null }, body)).get("/a");
}

async function recordOf({ caller, path, body }: Sent, scope: readonly ScopePart[]): Promise<string> {
  const headers = new Headers(caller === null ? {} : { "x-caller": caller });
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const held: HeldOrFlowing = { kind: "whole", body: { bytes, free: () => undefined } };
  const route = { scope, previousScopes: [] };
  const json = await jsonParts({ headers, route, request: null }, held);
  const read = readScope(headers, "host", scope, NO_PROOFS, "host", { path, json });
  if ("problem" in read) throw new Error(read.problem.code);
  return nameRecord("key", read.values, "64");
}

/** What distinguishes a request in this scope. */
function meant({ caller, path, body }: Sent, scope: readonly ScopePart[]): string {
  const parts = scope.map((part) => {
    if (part.kind === "header") return { caller };
    if (part.kind === "path") return { path: decodeURIComponent(path).replaceAll(/\/+/g, "/").replace(/\/$/, "") };
    if (part.kind !== "json") return null;
    const [token = ""] = part.tokens;
    return Object.hasOwn(body, token) ? { value: sorted(body[token]) } : null;
  });
  return JSON.stringify(parts);
}

function sorted(one: unknown): unknown {
  if (Array.isArray(one)) return one.map(sorted);
  if (typeof one !== "object" || one === null) return one;
  const members = Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { members: members.map(([name, member]) => [name, sorted(member)]) };
}

it("two requests share a record exactly if their caller and every part have the same value", async () => {
  await fc.assert(
    fc.asyncProperty(scopes, sent, sent, async (scope, one, other) => {
      const [first, second] = await Promise.all([recordOf(one, scope), recordOf(other, scope)]);
      expect(first === second).toBe(meant(one, scope) === meant(other, scope));
    }),
    { numRuns: 2000 },
  );
});

it("another scope's part with the same value is another record, so that values cannot move between parts", async () => {
  const parts = ["path", "route:x", "json:/a", "json:/b", "header:x-caller"].flatMap(readEntry);
  const same: Sent = { caller: "/v1/a", path: "/v1/a", body: { a: "/v1/a", b: "/v1/a" } };
  const names = await Promise.all(parts.map((part) => recordOf(same, [part])));
  expect(new Set(names).size).toBe(parts.length);
});

it("a part is found in a body of up to 1 MiB, and may have 256 KiB itself", async () => {
  const padding = "x".repeat(700 * 1024);
  expect(await partIn(`{"pad":"${padding}","a":{"c":1.0,"b":2}}`)).toEqual({ value: '{"b":2,"c":1}' });
  expect(await partIn(`{"a":"${"x".repeat(256 * 1024)}"}`)).toMatchObject({
    problem: { code: "request-invalid", reason: expect.stringContaining("at /a in the body") },
  });
});

it.each([
  ["a name twice", '{"a":1,"a":1}', "more than one way"],
  ["a name in another case", '{"a":1,"A":1}', "more than one way"],
  ["a name twice within", '{"a":{"b":1,"b":2}}', "more than one way"],
  ["a number that is not exact", '{"a":12345678901234567890}', "more than one way"],
  ["no JSON", '{"a":1', "not JSON"],
  ["too many levels", `{"a":${"[".repeat(1001)}${"]".repeat(1001)}}`, "levels"],
])("refuses %s, because readers could take different callers from it", async (_what, text, reason) => {
  expect(await partIn(text)).toMatchObject({
    problem: { code: "request-invalid", reason: expect.stringContaining(reason) },
  });
});
