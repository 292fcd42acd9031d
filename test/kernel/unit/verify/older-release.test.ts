// An object of an older release knows no verification by state: it would believe any 2xx. Neither a message nor a row gives it one.

import { describe, expect, it } from "vitest";
import type { ExchangeHead } from "../../../../src/kernel/request/message.ts";
import { exchangeHeadText, readHead } from "../../../../src/kernel/request/message.ts";
import { storedVerification, verificationInForm, verificationText } from "../../../../src/kernel/request/origin-key.ts";
import { COMPLETE, LIST, verificationFor } from "../../../support/unit/state-verification.ts";

const byState = await verificationFor(COMPLETE);
const byKey = await verificationFor({ ...COMPLETE, path: "/s/{key}" });

/** As much of a head as its text needs. */
function headWith(verification: ExchangeHead["verification"]): ExchangeHead {
  const call = { key: { text: "k1", form: "Idempotency-Key: {key}" } };
  const head: ExchangeHead = JSON.parse(JSON.stringify({ verification, rules: {}, call }));
  return head;
}

describe("a message", () => {
  it("has a verification by state under a name that an older object does not know", () => {
    const text = exchangeHeadText(headWith(byState));
    expect(JSON.parse(text)).toMatchObject({ verification: null, verificationByState: { url: byState?.url } });
    // The second time, its rules are known.
    for (let again = 0; again < 2; again += 1) {
      expect(readHead(text).verification).toEqual(byState);
      expect(readHead(text)).not.toHaveProperty("verificationByState");
    }
  });

  it("has any other verification as before", () => {
    if (byState === null) throw new TypeError("no verification");
    const { state: _, ...plain } = byState;
    const head = headWith(plain);
    expect(JSON.parse(exchangeHeadText(head))).toMatchObject({ verification: plain });
    expect(readHead(exchangeHeadText(headWith(null))).verification).toBeNull();
  });
});

describe("a row", () => {
  it("has no member that an older release asks with", () => {
    expect(byState).not.toBeNull();
    const stored: object = JSON.parse(byState === null ? "{}" : storedVerification(byState));
    expect(Object.keys(stored)).toEqual(["byState"]);
  });

  it("has a verification of its own form of the key, or none", async () => {
    const other = "X-Key: {key}";
    expect(verificationText(headWith(byKey), other)).toBeNull();
    expect(verificationText(headWith(byKey), "Idempotency-Key: {key}")).toContain("/s/k1");
    const moved = verificationInForm(
      headWith(
        await verificationFor(LIST, { path: "/v1/orders", pattern: "/v1/orders", body: { reference: "r", amount: 1 } }),
      ),
      other,
    );
    expect(moved?.headers).toContainEqual(["X-Key", "k1"]);
  });
});
