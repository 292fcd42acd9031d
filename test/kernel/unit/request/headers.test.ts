import { describe, expect, it } from "vitest";
import { type HeaderPairs, requestHeaders, responseHeaders } from "../../../../src/kernel/request/headers.ts";

/** The headers forwarded to the origin on a route that reads the key and `more`. */
function sent(headers: Headers, more: readonly string[] = []): HeaderPairs {
  return requestHeaders(headers, new Set(), new Set(["idempotency-key", ...more]));
}

describe("headers", () => {
  it("drops the headers of the connection, and those that Connection names", () => {
    const headers = new Headers({
      Connection: "keep-alive, X-Hop",
      "Keep-Alive": "timeout=5",
      "X-Hop": "1",
      TE: "trailers",
      "X-End": "2",
    });
    expect(sent(headers)).toEqual([["x-end", "2"]]);
    expect(responseHeaders(headers)).toEqual([["x-end", "2"]]);
  });

  it("keeps the key even if Connection names its header", () => {
    const headers = new Headers({ Connection: "idempotency-key", "Idempotency-Key": "k" });
    expect(sent(headers)).toEqual([["idempotency-key", "k"]]);
  });

  it.each([
    "authorization",
    "cookie",
    "cf-access-jwt-assertion",
    "cf-connecting-ip",
    "content-type",
    "forwarded",
    "x-amzn-oidc-data",
    "x-consumer-username",
    "x-forwarded-for",
    "x-real-ip",
    "x-remote-user",
    "x-tenant-id",
    "x-webauth-user",
  ])("lets no Connection header take %s away: it identifies the caller, or is for every recipient", (name) => {
    expect(sent(new Headers({ Connection: `close, ${name}`, [name]: "v" }))).toEqual([[name, "v"]]);
  });

  it("keeps every header that the route reads even if Connection names it", () => {
    expect(sent(new Headers({ Connection: "x-hop", "x-hop": "v" }), ["x-hop"])).toEqual([["x-hop", "v"]]);
  });

  it.each([
    "idempotency_attempt",
    "idempotency_key",
    "idempotency.key",
    "x_forwarded_for",
    "cf_connecting_ip",
    "cdn_loop",
  ])("drops %s, which a CGI-style server takes for the real one", (name) => {
    expect(sent(new Headers({ [name]: "v" }))).toEqual([]);
  });

  it("drops names that such a server reads as another header of the request, and no others with an underscore", () => {
    const headers = new Headers({ "x-acme-user": "alice", x_acme_user: "mallory", api_key: "k" });
    expect(sent(headers)).toEqual([
      ["api_key", "k"],
      ["x-acme-user", "alice"],
    ]);
  });

  it("keeps a header with an underscore that the route itself names", () => {
    expect(sent(new Headers({ "x-forwarded-for": "1", x_forwarded_for: "2" }), ["x_forwarded_for"])).toEqual([
      ["x-forwarded-for", "1"],
      ["x_forwarded_for", "2"],
    ]);
  });

  it.each(["Onceway-Queue", "onceway-message-id", "Onceway-Delivery", "onceway_queue", "onceway_message-id"])(
    "drops %s of a client, which only a queue's message has",
    (name) => {
      expect(sent(new Headers({ [name]: "orders", A: "1" }))).toEqual([["a", "1"]]);
    },
  );

  it("drops an attempt number sent by a client", () => {
    expect(sent(new Headers({ "Idempotency-Attempt": "9", A: "1" }))).toEqual([["a", "1"]]);
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
