// What a caller may rely on for every error of `onceway/client`.

import { expect, it } from "vitest";
import * as client from "../../../src/client/index.ts";

const { NoEffectError, OncewayError } = client;

const classes = Object.entries(client).filter(([, exported]) => String(exported).startsWith("class "));

it("has classes of errors alone, whose names end in `Error`, and one base", () => {
  expect(classes.map(([name]) => name).toSorted()).toEqual([
    "ClaimFailedError",
    "IdempotencyError",
    "InFlightError",
    "KeyReusedError",
    "NoEffectError",
    "OncewayError",
    "OutcomeUnknownError",
    "SupersededError",
  ]);
  for (const [, { prototype }] of classes) {
    expect(prototype instanceof Error).toBe(true);
    expect(prototype === OncewayError.prototype || prototype instanceof OncewayError).toBe(true);
  }
});

it("names an error as its class, also where the code is minified", () => {
  const error = new NoEffectError("not yet", { cause: "later" });
  expect(error).toMatchObject({ name: "NoEffectError", message: "not yet", cause: "later" });
  expect(String(error)).toBe("NoEffectError: not yet");
});
