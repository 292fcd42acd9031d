// The body of a change request: what is refused, with what to write instead.

import { describe, expect, it } from "vitest";
import { parseJsonBody } from "../../../src/operator/admin-request.ts";
import { parseChange } from "../../../src/operator/operator.ts";

const RESPONSE = { status: 201, body: "{}" };

function reasonOf(action: "release" | "resolve" | "forget", body: unknown): string | null {
  const parsed = parseChange(action, body instanceof Uint8Array ? parseJsonBody(body) : body);
  return parsed.ok ? null : parsed.reason;
}

const resolved = (response: object): object => ({ confirm: true, reason: "x", response });

describe("a change request", () => {
  it("is a reason, and with resolve a response that is previewed or confirmed", () => {
    expect(reasonOf("release", { reason: "x".repeat(1000) })).toBeNull();
    for (const how of [{ preview: true }, { confirm: true }, { preview: false, confirm: true }])
      expect(reasonOf("resolve", { reason: "x", response: RESPONSE, ...how })).toBeNull();
  });

  it.each([
    ["release", new Uint8Array(), 'The body must be JSON: write {"reason"'],
    ["release", new Uint8Array([0x22, 0xff, 0x22]), 'The body must be JSON: write {"reason"'],
    ["release", {}, 'The body must be JSON: write {"reason"'],
    ["release", { reason: " " }, "must not be empty"],
    ["release", { reason: "x".repeat(1001) }, "at most 1000 characters"],
    ["forget", { reason: "x", response: RESPONSE }, 'The body must be JSON: write {"reason"'],
    ["resolve", { reason: "x", confirm: true }, "The body must be JSON: write"],
    ["resolve", { reason: "x", response: RESPONSE }, "Write preview: true to see it"],
    ["resolve", { reason: "x", response: RESPONSE, preview: true, confirm: true }, "Write preview: true to see it"],
    ["resolve", resolved({ status: 199 }), "from 200 to 599"],
    ["resolve", resolved({ status: 204, body: "x" }), "204 has no body"],
    ["resolve", resolved({ status: 200, body: "x", bodyBase64: "eA==" }), "not both"],
    ["resolve", resolved({ status: 200, bodyBase64: "%" }), "is not base64"],
    [
      "resolve",
      resolved({ status: 200, headers: [["Transfer-Encoding", "chunked"]] }),
      '"Transfer-Encoding" is set by the gateway',
    ],
    [
      "resolve",
      resolved({ status: 200, headers: [["Idempotent-Replayed", "true"]] }),
      '"Idempotent-Replayed" is set by the gateway',
    ],
    ["resolve", resolved({ status: 200, headers: [["a b", "c"]] }), '"a b" cannot be sent'],
    ["resolve", resolved({ status: 200, headers: [["a", "b\r\nc: d"]] }), '"a" cannot be sent'],
    ["resolve", resolved({ status: 200, headers: [["a", "x".repeat(32_768)]] }), "exceed 32768 characters"],
    ["resolve", resolved({ status: 200, body: "x".repeat((1 << 20) + 1) }), "exceeds 1048576 bytes"],
  ] as const)("%s with %j is refused", (action, body, reason) => {
    expect(reasonOf(action, body)).toContain(reason);
  });
});
