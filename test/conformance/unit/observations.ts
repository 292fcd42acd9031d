// Observations made by hand, for judges: what a server answered, and how often the application was called.

import { expect, it } from "vitest";
import type { CaseObservation, ConformanceCase, ObservedCall, RequestReply } from "../../../src/conformance/case.ts";
import type { HeaderPair } from "../../../src/conformance/http-response.ts";

export const SENT = '{"amount":100}';

export function reply(status: number, body = "", headers: readonly HeaderPair[] = [], complete = true): RequestReply {
  return { status, statusText: "", headers, body: Buffer.from(body, "latin1"), complete, interim: [] };
}

export function call(body = SENT, target = "/pay?currency=EUR&to=a%20b"): ObservedCall {
  return { method: "POST", target, headers: [], body: Buffer.from(body, "latin1") };
}

export type Replies = CaseObservation["replies"];

/** `calls`: how many, or which; `null` without an origin. */
export function seen(
  replies: Replies,
  calls: number | readonly ObservedCall[] | null = 1,
  more: Partial<CaseObservation> = {},
): CaseObservation {
  const made = typeof calls === "number" ? Array.from({ length: calls }, () => call()) : calls;
  return { replies, calls: made, early: [], policy: null, sent: Buffer.from(SENT), ...more };
}

/** What a good server and defective ones show, by the cases' ids, in their order. */
export type Observations = Readonly<
  Record<string, { readonly good: readonly CaseObservation[]; readonly bad: readonly CaseObservation[] }>
>;

/** Tests that each case passes a good server and fails a defective one. */
export function testCases(cases: readonly ConformanceCase[], observations: Observations): void {
  it("have unique ids, each with observations", () => {
    expect(Object.keys(observations)).toEqual(cases.map(({ id }) => id));
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
  });

  it.each(cases.map((one) => [one.id, one] as const))(
    "%s passes a good server and fails a defective one",
    (id, one) => {
      const { good = [], bad = [] } = observations[id] ?? {};
      expect(good.length * bad.length).toBeGreaterThan(0);
      expect(good.map(one.judge)).toEqual(good.map(() => ({ is: "passed" })));
      expect(bad.map(one.judge)).toEqual(bad.map(() => ({ is: "failed", why: expect.stringMatching(/./) })));
    },
  );
}

/** The answers to ten requests at once. */
export function copies(make: (at: number) => RequestReply): Replies {
  return Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`copy.${at}`, make(at)]));
}
