// The setting `verdicts`, and what `check` says of it.

import { parse } from "smol-toml";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { configWarnings } from "../../../../src/cli/check/file.ts";
import { verdictsNode } from "../../../../src/features/verdicts/cli/node.ts";
import { configOf, PAYMENTS, problemOf, routeOf } from "../../../kernel/unit/config/support.ts";
import { blockWith } from "../../../support/docs.ts";

const RULE = { at: "/error/code", equals: "BUSY", is: "refused" };

describe("verdicts", () => {
  it("is part of what a route's object is told, and asks the origin for bodies without a coding", () => {
    const { rules } = routeOf({
      verdicts: [RULE, { at: "/ok", is: "result", equals: [true, 1], status: [200, "4xx"] }],
    });
    expect(rules).toMatchObject({
      uncompressed: true,
      verdicts: [
        { at: "/error/code", equals: ["BUSY"], is: "refused", statuses: ["2xx"] },
        { at: "/ok", equals: [true, 1], is: "result", statuses: [200, "4xx"] },
      ],
    });
    expect(routeOf({ verdicts: [{ at: "/error", is: "ambiguous" }] }).rules.verdicts?.[0]?.equals).toBeNull();
  });

  it("costs a route without it nothing: its object is told what it was told before", () => {
    expect(Object.keys(routeOf({}).rules)).not.toContain("verdicts");
    expect(Object.keys(routeOf({}).rules)).not.toContain("uncompressed");
    expect(Object.keys(routeOf({}).rules.policy)).not.toContain("afterRefusal");
    expect(routeOf({ after_refusal: "any" }).rules.policy).toMatchObject({ afterRefusal: "any" });
  });

  it.each([
    [{ ...RULE, at: "error" }, "is not a JSON pointer"],
    [{ ...RULE, at: "" }, "is the whole body"],
    [{ ...RULE, equals: [] }, "must have a value"],
    [{ ...RULE, equals: { code: 1 } }, "must be text, a number, true or false"],
    [{ ...RULE, equals: 2 ** 60 }, "must be a whole number"],
    [{ ...RULE, status: [] }, "must name a status"],
    [{ ...RULE, is: "retry" }, "must be one of its values"],
    [{ at: "/error" }, "is: is missing: write verdicts"],
  ])("refuses %j", (rule, message) => {
    expect(problemOf({ verdicts: [rule] })).toContain(message);
  });

  it("takes at most 32 rules", () => {
    expect(problemOf({ verdicts: Array.from({ length: 33 }, () => RULE) })).toContain("at most 32");
  });

  it("is as its page has it", () => {
    const written = parse(blockWith("src/features/verdicts/README.md", "after_refusal"));
    const { ROUTES } = v.parse(v.object({ vars: v.object({ ROUTES: v.tuple([v.looseObject({})]) }) }), written).vars;
    // The page's endpoint is one of GraphQL, which is another feature's.
    const { graphql: _, ...route } = ROUTES[0];
    expect(routeOf(route).rules.verdicts).toHaveLength(3);
  });
});

describe("check", () => {
  const config = (verdicts: readonly object[]) =>
    configOf({ ROUTES: [{ ...PAYMENTS, origin: "https://api.test", verdicts }] });

  it.each([
    [
      [
        { at: "/e", is: "refused" },
        { at: "/e", equals: "PAID", is: "result" },
      ],
      "ROUTES[0].verdicts[1]",
    ],
    [
      [
        { at: "/e", equals: [1, 2], is: "refused" },
        { at: "/e", equals: 2, is: "result", status: [201] },
      ],
      "ROUTES[0].verdicts[1]",
    ],
    [[{ at: "/e", is: "result", status: [429, 503] }], "ROUTES[0].verdicts[0]"],
    [
      [
        { at: "/e", equals: "PAID", is: "result" },
        { at: "/e", is: "refused" },
      ],
      null,
    ],
    [
      [
        { at: "/e", is: "refused", status: [200] },
        { at: "/e", equals: "PAID", is: "result" },
      ],
      null,
    ],
    [
      [
        { at: "/e", equals: 1, is: "refused" },
        { at: "/e", equals: "1", is: "result" },
      ],
      null,
    ],
  ])("warns of an entry that never decides: %j", (verdicts, path) => {
    const unused = configWarnings(config(verdicts)).filter(({ code }) => code === "setting-unused");
    expect(unused.map((one) => one.path)).toEqual(path === null ? [] : [path]);
  });

  it("says of each rule that calls an answer refused that the next try acts again", () => {
    const lines = verdictsNode.promises?.(
      config([RULE, { at: "/lost", is: "ambiguous" }, { at: "/e", is: "refused" }]),
    );
    expect(lines).toHaveLength(2);
    expect(lines?.[0]).toContain('an answer with "BUSY" at /error/code is refused');
    expect(lines?.[1]).toContain("an answer with anything at /e is refused");
  });

  it.each([
    ["/errors", undefined, 1],
    ["/errors/0", undefined, 1],
    ["/errors/0/extensions/code", ["RATE_LIMITED"], 0],
    ["/error", undefined, 0],
  ])("warns of %s without a value: with %j %i", (at, equals, warnings) => {
    const found = configWarnings(config([{ at, is: "refused", ...(equals === undefined ? {} : { equals }) }]));
    expect(found.filter(({ path }) => path === "ROUTES[0].verdicts[0]")).toHaveLength(warnings);
  });
});
