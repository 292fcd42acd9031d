import { describe, expect, it } from "vitest";
import { requestHeaders, responseHeaders } from "../../../src/http/headers.ts";

describe("headers", () => {
  it("drops what belongs to the connection, and what the connection names", () => {
    const headers = new Headers({
      Connection: "keep-alive, X-Hop",
      "Keep-Alive": "timeout=5",
      "X-Hop": "1",
      TE: "trailers",
      "X-End": "2",
    });
    expect(requestHeaders(headers, new Set())).toEqual([["x-end", "2"]]);
    expect(responseHeaders(headers)).toEqual([["x-end", "2"]]);
  });

  it("lets no Connection header take the key away from the origin", () => {
    const headers = new Headers({ Connection: "idempotency-key", "Idempotency-Key": "k" });
    expect(requestHeaders(headers, new Set(), new Set(["idempotency-key"]))).toEqual([["idempotency-key", "k"]]);
  });

  it("drops an attempt's number that a client made up", () => {
    expect(requestHeaders(new Headers({ "Idempotency-Attempt": "9", A: "1" }), new Set())).toEqual([["a", "1"]]);
  });

  it("drops the gateway's own headers from an origin's response", () => {
    const headers = new Headers({
      "Idempotent-Replayed": "true",
      "Idempotency-Expires": "x",
      "Idempotency-Key": "y",
      ETag: '"1"',
    });
    expect(responseHeaders(headers)).toEqual([["etag", '"1"']]);
  });

  it("keeps repeated Set-Cookie lines apart", () => {
    const headers = new Headers([
      ["Set-Cookie", "a=1"],
      ["Set-Cookie", "b=2, c"],
    ]);
    expect(responseHeaders(headers)).toEqual([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2, c"],
    ]);
  });
});
