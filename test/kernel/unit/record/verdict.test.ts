import { describe, expect, it } from "vitest";
import {
  classOfStatus,
  finalStatus,
  isSuccessStatus,
  judgeAttempt,
  type VerdictLists,
} from "../../../../src/kernel/record/verdict.ts";

const lists = { refused: [425, 429, 503], ambiguous: [408, 502, 504] };

describe("judge", () => {
  it.each([200, 201, 204, 301, 304, 400, 404, 409, 422, 500, 501, 505])("treats %d as a result", (status) => {
    expect(judgeAttempt({ kind: "answered", status }, lists)).toBe("result");
  });

  it.each([425, 429, 503])("treats %d as a refusal", (status) => {
    expect(judgeAttempt({ kind: "answered", status }, lists)).toBe("refused");
  });

  it.each([408, 502, 504])("treats %d as ambiguous", (status) => {
    expect(judgeAttempt({ kind: "answered", status }, lists)).toBe("ambiguous");
  });

  it("never guesses: a status in both lists is ambiguous", () => {
    expect(judgeAttempt({ kind: "answered", status: 503 }, { refused: [503], ambiguous: [503] })).toBe("ambiguous");
  });

  it("lets a number count before a class, whichever list has it", () => {
    const verdictOn = (status: number, own: VerdictLists) => judgeAttempt({ kind: "answered", status }, own);
    const refusing: VerdictLists = { refused: ["5xx", 429], ambiguous: [502] };
    expect([500, 503, 599].map((status) => verdictOn(status, refusing))).toEqual(["refused", "refused", "refused"]);
    expect(verdictOn(502, refusing)).toBe("ambiguous");
    expect([200, 404, 499].map((status) => verdictOn(status, refusing))).toEqual(["result", "result", "result"]);
    const doubting: VerdictLists = { refused: [503], ambiguous: ["4xx", "5xx"] };
    expect([400, 500, 503].map((status) => verdictOn(status, doubting))).toEqual(["ambiguous", "ambiguous", "refused"]);
  });

  it("knows the class of each status", () => {
    const classes = [100, 199, 200, 299, 300, 399, 400, 499, 500, 599, 600, 999].map(classOfStatus);
    expect(classes).toEqual(["1xx", "1xx", "2xx", "2xx", "3xx", "3xx", "4xx", "4xx", "5xx", "5xx", "5xx", "5xx"]);
  });

  it("takes each 2xx for a success, and nothing else", () => {
    expect([199, 200, 201, 299, 300, 404].filter(isSuccessStatus)).toEqual([200, 201, 299]);
  });

  it("treats only a failed connection as unsent", () => {
    expect(judgeAttempt({ kind: "unreachable" }, lists)).toBe("refused");
    expect(judgeAttempt({ kind: "dropped" }, lists)).toBe("ambiguous");
    expect(judgeAttempt({ kind: "timed-out" }, lists)).toBe("ambiguous");
  });
});

it.each([
  [200, 200],
  [599, 599],
  [600, 500],
  [999, 500],
  [199, 500],
  [101, 500],
  [0, 500],
])("a final response of status %i is processed as %i (RFC 9110, section 15)", (status, expected) => {
  expect(finalStatus(status)).toBe(expected);
});
