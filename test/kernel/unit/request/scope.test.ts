import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countFor, NO_PROOFS, readScope, type ScopeValues } from "../../../../src/kernel/request/scope.ts";
import { isSomebody, isWholeScope } from "../../../../src/kernel/request/record-name.ts";
import type { ScopePart } from "../../../../src/kernel/config/scope-part.ts";

const header: ScopePart = { kind: "header", name: "authorization" };
const cookie: ScopePart = { kind: "cookie", name: "session" };
const HOST = "api.example.com";

function valuesOf(headers: Record<string, string>, parts: readonly ScopePart[], host = HOST): ScopeValues {
  const scope = readScope(new Headers(headers), host, parts);
  if ("problem" in scope) throw new Error(scope.problem.code);
  return scope.values;
}

describe("readScope", () => {
  it("distinguishes an absent credential from an empty one", () => {
    expect(valuesOf({}, [header])).not.toEqual(valuesOf({ authorization: "" }, [header]));
  });

  it("never confuses a cookie's value with a header's", () => {
    const asHeader = valuesOf({ authorization: "a" }, [header]);
    const asCookie = valuesOf({ cookie: "session=a" }, [cookie]);
    expect(asHeader).not.toEqual(asCookie);
    expect(asCookie).toContain("a");
  });

  it("takes a path in its plainest form, a route's word and what the body has, and nothing of them shows a caller", () => {
    const parts: readonly ScopePart[] = [
      { kind: "path" },
      { kind: "route", name: "checkout" },
      { kind: "json", name: "/account", tokens: ["account"] },
    ];
    const scopeOf = (path: string, value: string | null) =>
      readScope(new Headers(), HOST, parts, NO_PROOFS, HOST, { path, json: new Map([["/account", { value }]]) });
    const values = ["path", "/v1/pay", "route:checkout", "checkout", "json:/account", '{"id":1}'];
    for (const path of ["/v1/pay", "/v1//pay/", "/v1/%70ay", "/v1/pay;a=1"]) {
      expect(scopeOf(path, '{"id":1}')).toEqual({ values });
    }
    expect(scopeOf("/v1/Pay", '{"id":1}')).not.toEqual({ values });
    expect(isSomebody(values)).toBe(false);
    expect(isSomebody(["header:authorization", null, ...values])).toBe(false);
    expect(isSomebody(["header:authorization", "a", ...values])).toBe(true);
    expect(isWholeScope(["header:authorization", "a", "json:/account", null])).toBe(false);
  });

  it("shows nobody by a credential that is empty, which strangers have in common", () => {
    const nobody = valuesOf({ authorization: "", cookie: "session=" }, [header, cookie]);
    expect([isSomebody(nobody), isWholeScope(nobody)]).toEqual([false, false]);
    const half = valuesOf({ authorization: "Bearer a", cookie: "session=" }, [header, cookie]);
    expect([isSomebody(half), isWholeScope(half)]).toEqual([true, false]);
  });

  it("counts a caller's new keys together, whatever path and value they are for", async () => {
    const countIn = (scope: ScopeValues) => countFor("LIMIT", scope, new Headers());
    const caller = ["header:authorization", "a"] as const;
    expect(await countIn([...caller, "path", "/x", "json:/id", "1"])).toEqual(await countIn(caller));
  });

  it("reads one cookie among others", () => {
    expect(valuesOf({ cookie: "x=1; session=abc; y=2" }, [cookie])).toEqual(["cookie:session", "abc"]);
  });

  it.each([
    `session={"user":"alice","n":1}`,
    "session=a,b",
    "session=a, b",
    "session=aé",
    'session="a b"',
    "session=%61",
    "session=",
    "session=a; session=b",
    "session=a==",
  ])("takes a cookie's text as it is, whatever others would make of it: %s", (sent) => {
    const [, value] = valuesOf({ cookie: `x=1; ${sent}` }, [cookie]);
    expect(value).toBe(sent.replaceAll("session=", "").replaceAll("; ", ";"));
  });

  it.each([
    // Two lines, as the runtime joins them, and as a proxy may.
    "theme=dark, session=abc",
    "theme=dark,session=abc",
    "session=abc, theme=dark",
    "session=abc,theme=dark",
    "x=1; theme=dark, session=abc",
    "session=abc, session=def",
    // Names that some servers read as the same cookie.
    "session =abc",
    "session\t=abc",
    "x=1; session",
    '"session"=abc',
    "s%65ssion=abc",
  ])("refuses what looks like the cookie and is ambiguous: %s", (sent) => {
    expect(readScope(new Headers({ cookie: sent }), HOST, [cookie])).toEqual({
      problem: {
        code: "request-invalid",
        reason: expect.stringContaining("The cookie session, which identifies the caller, is ambiguous"),
      },
    });
  });

  it.each(["theme=dark", "sessions=abc", "xsession=abc", "theme=a,b", "theme=a, mode=b", "SESSION=abc", "%=1", ""])(
    "finds no cookie of the name in: %s",
    (sent) => {
      expect(valuesOf({ cookie: sent }, [cookie])).toEqual(["cookie:session", null]);
    },
  );

  it("never treats a request with the cookie as one without, however its lines are broken", () => {
    const other = fc.stringMatching(/^[a-z]{1,5}=[a-z0-9]{0,5}$/).filter((pair) => !pair.startsWith("session="));
    const separator = fc.constantFrom("; ", ";", ", ", ",");
    fc.assert(
      fc.property(
        fc.array(other, { maxLength: 3 }),
        fc.array(other, { maxLength: 3 }),
        separator,
        separator,
        (...all) => {
          const [before, after, first, second] = all;
          const line = [
            ...before.flatMap((pair) => [pair, first]),
            "session=abc",
            ...after.flatMap((pair) => [second, pair]),
          ];
          const scope = readScope(new Headers({ cookie: line.join("") }), HOST, [cookie]);
          if ("values" in scope) expect(scope.values).toEqual(["cookie:session", "abc"]);
        },
      ),
    );
  });

  it("reads cookies up to 16 KiB, and refuses longer headers before it parses them", () => {
    const cookies = (length: number): Headers => new Headers({ cookie: `session=a; b=${"%".repeat(length - 13)}` });
    const scope: readonly ScopePart[] = [{ kind: "cookie", name: "session" }];
    expect(readScope(cookies(16 * 1024), "host", scope)).toEqual({ values: ["cookie:session", "a"] });
    expect(readScope(cookies(16 * 1024 + 1), "host", scope)).toHaveProperty("problem");
    // If no cookie is part of the scope, none is parsed.
    expect(readScope(cookies(100_000), "host", [{ kind: "ip" }])).toEqual({ values: ["ip", null] });
  });

  it("takes the caller's address from Cloudflare's own header", () => {
    const address = (text: string): ScopeValues => valuesOf({ "cf-connecting-ip": text }, [{ kind: "ip" }]);
    expect(address("2001:db8::1")).toEqual(["ip", "2001:db8:0:0:0:0:0:1"]);
    // Proxies write one client in several ways.
    expect(address("2001:DB8:0::1")).toEqual(address("2001:db8::1"));
    expect(address("::ffff:192.0.2.1")).toEqual(address("192.0.2.1"));
  });

  it("distinguishes hosts if the scope says so", () => {
    expect(valuesOf({}, [{ kind: "host" }], "a.example.com")).not.toEqual(
      valuesOf({}, [{ kind: "host" }], "b.example.com"),
    );
  });
});
