import { describe, expect, it } from "vitest";
import { requestBytes } from "../http.ts";

const base = { host: "127.0.0.1", port: 80, method: "POST", target: "/a b?%zz" };

describe("the raw request", () => {
  it("adds only what is missing and changes nothing that is given", () => {
    const headers = [
      ["hOsT", "else"],
      ["Idempotency-Key", "a"],
      ["idempotency-key", " b"],
    ] as const;
    expect(requestBytes({ ...base, headers, body: "hi" }).toString()).toBe(
      "POST /a b?%zz HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n" +
        "hOsT: else\r\nIdempotency-Key: a\r\nidempotency-key:  b\r\n\r\nhi",
    );
  });

  it("adds nothing when bare", () => {
    expect(requestBytes({ ...base, bare: true, body: "hi" }).toString()).toBe("POST /a b?%zz HTTP/1.1\r\n\r\nhi");
  });

  it("sends a chunked body in two chunks", () => {
    const bytes = requestBytes({ ...base, chunked: true, body: "abc" });
    expect(bytes.toString()).toContain("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  });

  it("sends header text as Latin-1", () => {
    expect(requestBytes({ ...base, headers: [["X", "é"]] }).includes(Buffer.from([0x58, 0x3a, 0x20, 0xe9, 0x0d]))).toBe(
      true,
    );
  });
});
