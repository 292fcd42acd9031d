// Errors that nothing in an object catches, because the running test wants it so.

import { expect, type RunnerTestCase, TestRunner } from "vitest";

/** The key of a test's `meta` where test/support/runtime-errors.ts finds them. */
export type ExpectedErrors = "expectedErrors";
const META: ExpectedErrors = "expectedErrors";

declare module "vitest" {
  interface TaskMeta {
    [META]?: string[];
  }
}

/** Declares that the running test makes workerd report an uncaught error whose message contains `text`. Any other fails the run. */
export function expectRuntimeError(text: string): void {
  const meta = TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.meta;
  if (meta === undefined) throw new Error("only a running test can expect an error");
  meta[META] = [...(meta[META] ?? []), text];
}

/** Expects a call of an object to fail there with an error whose message contains `text`. */
export async function expectThrown(call: Promise<unknown>, text: string): Promise<void> {
  expectRuntimeError(text);
  await expect(call).rejects.toThrow(text);
}
