// Options of `createOnceway` that it refuses when the Worker starts, in words that say what to write.

import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createOnceway } from "../../../../src/library.ts";

describe("createOnceway", () => {
  it.each([
    ["another option", { passOn: () => new Response() }, 'unknown option "passOn": the only option is "unprotected"'],
    ["the Worker's variables", { IDEMPOTENCY: {} }, 'unknown option "IDEMPOTENCY": the only option is "unprotected"'],
    ["env", env, "unknown option"],
    ["an application", { unprotected: { fetch: () => new Response() } }, "such as app.fetch"],
    ["no function", { unprotected: null }, "unprotected must be a function of a request, env and ctx"],
    ["a function alone", () => new Response(), "the options must be an object, such as { unprotected: app.fetch }"],
    ["null", null, "the options must be an object"],
  ])("refuses %s", (_what, options, message) => {
    const make = (): unknown => Reflect.apply(createOnceway, undefined, [options]);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`createOnceway: `);
    expect(make).toThrow(message);
  });

  it.each([["no options"], ["an empty object", {}], ["an option that is not set", { unprotected: undefined }]])(
    "takes %s, and has the handlers of a Worker",
    (_what, ...options) => {
      expect(Object.keys(Reflect.apply(createOnceway, undefined, options)).toSorted()).toEqual([
        "fetch",
        "operate",
        "queue",
        "scheduled",
      ]);
    },
  );
});
