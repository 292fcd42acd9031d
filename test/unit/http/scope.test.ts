import { describe, expect, it } from "vitest";
import { scopeOf } from "../../../src/http/scope.ts";
import type { ScopePart } from "../../../src/config/resolved.ts";

const header: ScopePart = { kind: "header", name: "authorization" };
const cookie: ScopePart = { kind: "cookie", name: "session" };

describe("scopeOf", () => {
  it("tells an absent credential from an empty one", () => {
    expect(scopeOf(new Headers(), [header])).not.toEqual(scopeOf(new Headers({ authorization: "" }), [header]));
  });

  it("never takes a cookie's value for a header's", () => {
    const asHeader = scopeOf(new Headers({ authorization: "a" }), [header]);
    const asCookie = scopeOf(new Headers({ cookie: "session=a" }), [cookie]);
    expect(asHeader).not.toEqual(asCookie);
    expect(asCookie).toContain("a");
  });

  it("reads one cookie among others", () => {
    expect(scopeOf(new Headers({ cookie: "x=1; session=abc; y=2" }), [cookie])).toEqual(["cookie:session", "abc"]);
  });

  it.each([
    `session={"user":"alice"}`,
    "session=aé",
    'session="a b"',
    "session=%61",
    "session=",
    "session=a; session=b",
  ])("takes a cookie's text as it is, whatever others would make of it: %s", (sent) => {
    const [, value] = scopeOf(new Headers({ cookie: `x=1; ${sent}` }), [cookie]);
    expect(value).toBe(sent.replaceAll("session=", "").replaceAll("; ", ";"));
  });

  it("takes the caller's address from Cloudflare's own header", () => {
    expect(scopeOf(new Headers({ "cf-connecting-ip": "2001:db8::1" }), [{ kind: "ip" }])).toEqual([
      "ip",
      "2001:db8::1",
    ]);
  });
});
