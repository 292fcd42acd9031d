// Which file of decisions is refused, at which line, and what to write instead; and what a valid one means.

import { describe, expect, it } from "vitest";
import { keyHash } from "../../../../src/kernel/request/record-name.ts";
import { parseDecisionLines } from "../../../../src/features/decisions/operator/decision-lines.ts";
import { parseDecide } from "../../../../src/features/decisions/operator/decide-request.ts";
import { blockWith } from "../../../support/docs.ts";
import { epochMs } from "../../../../src/kernel/record/units.ts";

const ID = "0f".repeat(32);
const RELEASE = { key: "order-1", decision: "release", reason: "not in the ledger" };
const RESOLVE = { key: "order-2", decision: "resolve", status: 201, body: "paid", reason: "in the ledger" };

const file = (...lines: readonly unknown[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

async function problemsOf(text: string, reason?: string): Promise<readonly string[]> {
  const parsed = await parseDecisionLines(text, reason);
  return parsed.ok ? [] : parsed.problems.map((problem) => `${problem.line}: ${problem.reason}`);
}

describe("a file of decisions", () => {
  it("is read line by line: blank lines, CRLF, a mark of its encoding and a last line without an end are fine", async () => {
    const lines = [RELEASE, RESOLVE, { id: ID, decision: "forget" }].map((line) => JSON.stringify(line));
    const text = `\ufeff${lines[0]}\r\n\r\n  \n${lines[1]}\n\n${lines[2]}`;
    const parsed = await parseDecisionLines(text, "reconciled");
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const body = new TextEncoder().encode("paid");
    expect(
      parsed.lines.map(({ line, decision: { begin, action, reason, response } }) => [
        line,
        begin,
        action,
        reason,
        response,
      ]),
    ).toEqual([
      [1, await keyHash("order-1"), "release", "not in the ledger", null],
      [4, await keyHash("order-2"), "resolve", "in the ledger", { status: 201, headers: [], body }],
      [6, ID, "forget", "reconciled", null],
    ]);
  });

  it.each([
    ["{]", "It is no JSON"],
    ['"release"', "A decision is a JSON object"],
    [JSON.stringify([RELEASE]), "A decision is a JSON object"],
    [JSON.stringify({ ...RELEASE, stauts: 201 }), "A decision is a JSON object"],
    [JSON.stringify({ ...RELEASE, id: ID }), "Write either key or id."],
    [JSON.stringify({ decision: "release", reason: "x" }), "Write either key or id."],
    [JSON.stringify({ ...RELEASE, key: "" }), "key must be"],
    [JSON.stringify({ ...RELEASE, key: "ü" }), "key must be"],
    [JSON.stringify({ ...RELEASE, key: "k".repeat(256) }), "key must be"],
    [JSON.stringify({ ...RELEASE, key: undefined, id: "0f" }), "id must be a record's id"],
    [JSON.stringify({ ...RELEASE, decision: "retry" }), "decision must be one of release, resolve, forget."],
    [JSON.stringify({ ...RELEASE, reason: undefined }), "reason is missing"],
    [JSON.stringify({ ...RELEASE, reason: " " }), "reason must not be empty"],
    [JSON.stringify({ ...RELEASE, status: 201 }), "status is only for resolve"],
    [JSON.stringify({ ...RELEASE, body: "" }), "body is only for resolve"],
    [JSON.stringify({ ...RESOLVE, status: undefined }), "resolve needs the response"],
    [JSON.stringify({ ...RESOLVE, status: 199 }), "status must be a whole number from 200 to 599."],
    [JSON.stringify({ ...RESOLVE, body: { paid: true } }), "body must be text"],
    [JSON.stringify({ ...RESOLVE, headers: { "content-type": "text/plain" } }), "headers must be a list of pairs"],
    [JSON.stringify({ ...RESOLVE, bodyBase64: "" }), "Write body or bodyBase64, not both."],
    [JSON.stringify({ ...RESOLVE, status: 204 }), "A response with status 204 has no body"],
    [
      JSON.stringify({ ...RESOLVE, headers: [["content-type", "application/json"]] }),
      "The body is not JSON, but content-type says it is",
    ],
    [JSON.stringify({ ...RESOLVE, headers: [["content-length", "4"]] }), "is set by the gateway"],
  ])("is refused at its line: %s", async (line, reported) => {
    const problems = await problemsOf(`${JSON.stringify({ ...RELEASE, key: "other" })}\n${line}`);
    expect(problems).toEqual([expect.stringMatching(/^2: /)]);
    expect(problems[0]).toContain(reported);
    expect(problems[0]).not.toContain("response.");
  });

  it("may look as the page says", async () => {
    const text = blockWith("src/features/decisions/README.md", '"decision":"resolve"');
    expect(await parseDecisionLines(text, undefined)).toMatchObject({ ok: true, lines: [{ line: 1 }, { line: 2 }] });
  });

  it.each(["", "\n \n"])("is no file of decisions without any: %j", async (text) => {
    expect(await problemsOf(text)).toEqual([expect.stringContaining("1: There is no decision")]);
  });

  it("is UTF-8", async () => {
    const text = JSON.stringify({ ...RESOLVE, body: "bezahlt für 5 €" });
    expect(await parseDecisionLines(new TextEncoder().encode(text), undefined)).toMatchObject({ ok: true });
    expect(await parseDecisionLines(Buffer.from(text, "latin1"), undefined)).toEqual({
      ok: false,
      problems: [{ line: 1, reason: expect.stringContaining("not UTF-8") }],
    });
  });

  it("has its first ten problems named at once", async () => {
    const problems = await problemsOf(file(RELEASE, ...Array.from({ length: 12 }, (_, at) => ({ key: `k-${at}` }))));
    expect(problems.map((problem) => problem.split(":")[0])).toEqual(
      Array.from({ length: 10 }, (_, at) => String(at + 2)),
    );
  });

  it("may name no record twice, neither by its key, nor by its id, nor by both", async () => {
    const other = { ...RELEASE, decision: "forget" };
    expect(await problemsOf(file(RELEASE, RESOLVE, other))).toEqual([
      "3: It may name the same record as line 1: write one of them.",
    ]);
    const byId = { id: ID, decision: "release", reason: "x" };
    expect(await problemsOf(file(byId, byId))).toHaveLength(1);
    const ofKey = { ...byId, id: `${await keyHash("order-1")}${"0".repeat(32)}` };
    expect(await problemsOf(file(RELEASE, ofKey))).toHaveLength(1);
    expect(await problemsOf(file(ofKey, RELEASE))).toHaveLength(1);
    // One key in two scopes.
    const elsewhere = { ...byId, id: `${await keyHash("order-1")}${"1".repeat(32)}` };
    expect(await problemsOf(file(ofKey, elsewhere))).toEqual([]);
  });
});

describe("a request with decisions", () => {
  const now = epochMs(1_800_000_000_000);
  const until = new Date(now).toISOString();
  const ask = async (more: object): Promise<string> => {
    const parsed = await parseDecide({ decisions: [RELEASE, RESOLVE], preview: true, ...more }, now);
    return parsed.ok ? "" : parsed.reason;
  };

  it("is checked whole before anything is done", async () => {
    expect(await ask({})).toBe("");
    expect(await ask({ decisions: [RELEASE, { ...RESOLVE, status: 1 }] })).toBe(
      "decisions[1]: status must be a whole number from 200 to 599.",
    );
    expect(await ask({ decisions: [RESOLVE, RELEASE, RESOLVE] })).toContain("decisions[2]: It may name the same");
    expect(await ask({ decisions: [] })).toContain("decisions must be a list of 1 to 500");
    expect(await ask({ decisions: Array.from({ length: 501 }, () => RELEASE) })).toContain("a list of 1 to 500");
  });

  it("is carried out with the time of its preview alone", async () => {
    expect(await ask({ preview: false })).toContain("Write preview: true");
    expect(await ask({ confirm: true })).toContain("Write preview: true");
    expect(await ask({ preview: false, confirm: true })).toContain("until is missing");
    expect(await ask({ preview: false, confirm: true, until })).toBe("");
    expect(await ask({ until: "yesterday" })).toContain("until must be the time");
    expect(await ask({ until: "2026-11-23T03:12:40.118+99:99" })).toContain("until must be the time");
    expect(await ask({ until: new Date(now + 60_001).toISOString() })).toContain("must not be in the future");
  });
});
