// Who is asked with a duplicate's credential once the origin no longer accepts that of the claim.

import { describe, expect, it } from "vitest";
import type { Origin } from "../../../../src/kernel/config/resolved.ts";
import type { Verification } from "../../../../src/kernel/request/message.ts";
import { storedVerification } from "../../../../src/kernel/request/origin-key.ts";
import { secondOf } from "../../../../src/kernel/verify/state-request.ts";
import { COMPLETE, verificationFor } from "../../../support/unit/state-verification.ts";

async function from(credential: string, origin: Origin, url: string): Promise<Verification> {
  const found = await verificationFor(COMPLETE, { headers: { Authorization: credential } });
  if (found === null) throw new TypeError("no verification");
  return { ...found, origin, url };
}

const at = (host: string): Origin => ({ kind: "url", url: `https://${host}` });
const claims = await from("Bearer a", at("old.example"), "https://old.example/orders/o1");

function second(callers: Verification | null): Verification | null {
  return secondOf(claims, storedVerification(claims), callers);
}

describe("a second chance", () => {
  it("is the claim's own question with the duplicate's credential", async () => {
    const callers = await from("Bearer b", at("old.example"), "https://old.example/orders/another");
    expect(second(callers)).toEqual({ ...claims, headers: callers.headers });
  });

  it("is none with the same credential, or without a duplicate", () => {
    expect(second(claims)).toBeNull();
    expect(second(null)).toBeNull();
  });

  it("gives the credential to no origin that the duplicate's route does not have", async () => {
    expect(second(await from("Bearer b", at("new.example"), "https://new.example/orders/o1"))).toBeNull();
    expect(second(await from("Bearer b", { kind: "zone" }, "https://old.example/orders/o1"))).toBeNull();
  });
});
