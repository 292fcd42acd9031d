import { describe, expect, it } from "vitest";
import { plainestPath } from "../../../../src/kernel/request/path.ts";

describe("plainestPath", () => {
  it.each([
    ["/v1/payments", "/v1/payments"],
    ["/v1/payments/", "/v1/payments"],
    ["//v1///payments", "/v1/payments"],
    ["/v1/%70ayments", "/v1/payments"],
    ["/v1%2Fpayments", "/v1/payments"],
    ["/v1/x/../payments", "/v1/payments"],
    ["/v1/x/%2e%2e/payments", "/v1/payments"],
    ["/v1/x/..%2fpayments", "/v1/payments"],
    ["/v1/x/..%5cpayments", "/v1/payments"],
    ["/v1/payments;jsessionid=1", "/v1/payments"],
    ["/v1;a=b/payments", "/v1/payments"],
    ["/../../v1/payments", "/v1/payments"],
    ["/v1/payments%", "/v1/payments%"],
    ["/v1/%zz/%70", "/v1/%zz/p"],
    ["/v1/%ff%70", "/v1/%ffp"],
    ["/v1/%ff%2f..%2fpayments", "/v1/payments"],
    ["/v1/%c3%a9", "/v1/é"],
    ["/v1/%2570", "/v1/%70"],
    ["/", "/"],
  ])("makes %s out of its variants: %s", (path, plain) => {
    expect(plainestPath(new URL(`http://h${path}?q=/x`).pathname)).toBe(plain);
  });
});
