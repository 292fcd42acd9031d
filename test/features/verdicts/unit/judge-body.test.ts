// What a body says by a route's rules, and what cannot be read.

import { describe, expect, it } from "vitest";
import type { AnswerHead } from "../../../../src/kernel/judge-body.ts";
import type { BodyRule } from "../../../../src/kernel/record/verdict.ts";
import { routeOf } from "../../../kernel/unit/config/support.ts";
import { judgeBody } from "../../../../src/features/verdicts/object/judge-body.ts";

const REFUSED: BodyRule = { at: "/errors/0/code", equals: ["RATE_LIMITED", 429], is: "refused", statuses: ["2xx"] };
const RULES: readonly BodyRule[] = [
  { at: "/data/pay", equals: null, is: "result", statuses: ["2xx"] },
  REFUSED,
  { at: "/errors/0/fatal", equals: [true], is: "ambiguous", statuses: ["2xx", 422] },
];

const NO_RULES = routeOf({}).rules;

const JSON_TYPE = [["Content-Type", "application/json; charset=utf-8"]] as const;

function judged(body: string | Uint8Array, status = 200, headers: AnswerHead["headers"] = JSON_TYPE, rules = RULES) {
  const question = judgeBody({ status, headers }, { ...NO_RULES, verdicts: rules });
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return question === null || question === "unreadable" ? question : question(bytes);
}

describe("a body", () => {
  it.each([
    ['{"errors":[{"code":"RATE_LIMITED"}]}', { is: "refused", at: "/errors/0/code" }],
    ['{"errors":[{"code":429.0}]}', { is: "refused", at: "/errors/0/code" }],
    ['{"errors":[{"code":"429"}]}', { is: "result" }],
    ['{"errors":[{"code":"other","fatal":true}]}', { is: "ambiguous", at: "/errors/0/fatal" }],
    ['{"errors":[{"code":"other","fatal":"true"}]}', { is: "result" }],
    ['{"errors":[{"code":"RATE_LIMITED"}],"data":{"pay":{"id":1}}}', { is: "result" }],
    ['{"errors":[{"code":"RATE_LIMITED"}],"data":{"pay":null}}', { is: "refused", at: "/errors/0/code" }],
    ['{"data":{}}', { is: "result" }],
  ])("%s says %j", async (body, verdict) => {
    expect(await judged(body)).toEqual(verdict);
  });

  it.each([
    ["is no JSON", "no"],
    ["is empty", ""],
    ["has a member twice", '{"errors":[{"code":"RATE_LIMITED","code":"other"}]}'],
    ["has a member twice on the way to what would be a result", '{"data":{"pay":null},"data":{"pay":1}}'],
    ["has a number that readers round, where one counts", '{"errors":[{"code":429.00000000000000001}]}'],
    ["is not UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
  ])("that %s cannot be read", async (_why, body) => {
    expect(await judged(body)).toBe("unreadable");
  });

  it.each([
    ["another type", [["Content-Type", "text/html"]]],
    ["another charset", [["Content-Type", 'application/json; v=1; Charset="utf-16"']]],
    ["no type", []],
    [
      "two types",
      [
        ["Content-Type", "application/json"],
        ["content-type", "text/html"],
      ],
    ],
    ["a coding", [...JSON_TYPE, ["Content-Encoding", "gzip"]]],
  ] as const)("with %s cannot be read, and is not held", (_what, headers) => {
    expect(judged("{}", 200, headers)).toBe("unreadable");
  });

  it("is not asked for where no rule is about its status, or where it has none", () => {
    expect(judged("{}", 404)).toBeNull();
    expect(judged("{}", 204)).toBeNull();
    expect(judged("{}", 200, JSON_TYPE, [])).toBeNull();
  });

  it("is judged by the rules of its status alone", async () => {
    expect(await judged('{"errors":[{"code":"RATE_LIMITED","fatal":true}]}', 422)).toEqual({
      is: "ambiguous",
      at: "/errors/0/fatal",
    });
  });

  it.each(["application/graphql-response+json", "Application/JSON", "application/problem+json;v=1"])(
    "of type %s is read",
    async (type) => {
      expect(await judged('{"errors":[{"code":429}]}', 200, [["content-type", type]])).toMatchObject({ is: "refused" });
    },
  );
});
