// Which URLs may give the keys of a caller, and under which one spelling. What matches too much makes a stranger somebody.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TrustedAgents } from "../../../../src/kernel/config/identity.ts";
import { agentUrl, parseTrust, trustOf } from "../../../../src/features/identities/signature/agent-url.ts";

function trusted(...entries: readonly string[]): readonly TrustedAgents[] {
  return entries.map((entry) => {
    const parsed = parseTrust(entry);
    if (!parsed.ok) throw new Error(parsed.message);
    return parsed.value;
  });
}

function trustIn(text: string, ...entries: readonly string[]): "listed" | "below" | null {
  const url = agentUrl(text);
  return url === null ? null : trustOf(url, trusted(...entries));
}

describe("the URL of an agent", () => {
  it.each([
    ["https://platform.example/.well-known/ucp", "https://platform.example/.well-known/ucp"],
    ["HTTPS://Platform.Example:443/Profile", "https://platform.example/Profile"],
    ["https://platform.example", "https://platform.example/"],
    ["https://platform.example/a/./b/../%7euser/%c3%a9", "https://platform.example/a/~user/%C3%A9"],
    ["https://platform.example:8443/p", "https://platform.example:8443/p"],
    ["http://127.0.0.1:8788/p", "http://127.0.0.1:8788/p"],
    ["http://localhost/p", "http://localhost/p"],
  ])("%s is %s", (text, href) => {
    expect(agentUrl(text)?.href).toBe(href);
  });

  it.each([
    ["http, which anybody on the way could change", "http://platform.example/p"],
    ["http at a host that begins like this machine", "http://127.0.0.1.example.com/p"],
    ["a user", "https://user@platform.example/p"],
    ["an empty user", "https://@platform.example/p"],
    ["a password", "https://a:b@platform.example/p"],
    ["a fragment", "https://platform.example/p#x"],
    ["the root's dot", "https://platform.example./p"],
    ["a backslash", "https://platform.example\\@evil.example/p"],
    ["an escaped slash", "https://platform.example/agents/..%2fother"],
    ["an escaped backslash", "https://platform.example/agents/..%5Cother"],
    ["no host", "https:///platform.example/p"],
    ["no slashes", "https:platform.example/p"],
    ["another scheme", "data:application/json,{}"],
    ["a relative URL", "/.well-known/ucp"],
    ["a tab, which URL parsers drop", "https://platform\t.example/p"],
    ["a space at the end", "https://platform.example/p "],
    ["letters beyond ASCII", "https://plätform.example/p"],
    ["nothing", ""],
    ["too many characters", `https://platform.example/${"p".repeat(1024)}`],
  ])("must not have %s", (_, text) => {
    expect(agentUrl(text)).toBeNull();
  });

  it("has one spelling: the same again from its own text", () => {
    const part = fc.string({
      unit: fc.constantFrom("a", "Z", "%7e", "%C3", "%2e", ".", "/", "~", "?", "="),
      maxLength: 12,
    });
    fc.assert(
      fc.property(part, (path) => {
        const url = agentUrl(`https://Platform.example/${path}`);
        expect(url === null ? null : agentUrl(url.href)?.href).toBe(url?.href ?? null);
      }),
    );
  });
});

describe("a trusted URL", () => {
  it("is that one, whatever its spelling", () => {
    const entry = "https://platform.example/.well-known/ucp";
    expect(trustIn(entry, entry)).toBe("listed");
    expect(trustIn("https://PLATFORM.example:443/%2ewell-known/%75cp", entry)).toBe("listed");
    for (const other of [
      "https://platform.example/.well-known/ucp/",
      "https://platform.example/.well-known/UCP",
      "https://platform.example/.well-known/ucp?a=b",
      "https://platform.example:8443/.well-known/ucp",
      "https://www.platform.example/.well-known/ucp",
    ]) {
      expect([other, trustIn(other, entry)]).toEqual([other, null]);
    }
    expect(trustIn(`${entry}?a=b`, `${entry}?a=b`)).toBe("listed");
  });

  it("with * at its end is any path below, without a query", () => {
    const entry = "https://platform.example/agents/*";
    expect(trustIn("https://platform.example/agents/7", entry)).toBe("below");
    expect(trustIn("https://platform.example/agents/7/keys", entry)).toBe("below");
    for (const other of [
      "https://platform.example/agents",
      "https://platform.example/agents7",
      "https://platform.example/agents/../other",
      "https://platform.example/agents/%2e%2e/other",
      "https://platform.example/agents/7?a=b",
      "https://platform.example.evil/agents/7",
    ]) {
      expect([other, trustIn(other, entry)]).toEqual([other, null]);
    }
  });

  it("with * for the first name is any host one name below", () => {
    const entry = "https://*.example.com/*";
    expect(trustIn("https://a.example.com/p", entry)).toBe("below");
    expect(trustIn("https://A.EXAMPLE.com/p", entry)).toBe("below");
    for (const other of [
      "https://example.com/p",
      "https://example.com.evil/p",
      "https://a.example.com.evil/p",
      "https://evil-example.com/p",
      "https://a.b.example.com/p",
      "https://evil/a.example.com/p",
      "https://evil/?.example.com/p",
      "https://a.example.com:8443/p",
      "http://a.example.com/p",
      "https://a.example.com@evil/p",
      "https://.example.com/p",
    ]) {
      expect([other, trustIn(other, entry)]).toEqual([other, null]);
    }
  });

  it("with both means no other host than those, for any host", () => {
    const label = fc.stringMatching(/^[a-z0-9-]{1,8}$/);
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 5 }), (labels) => {
        const host = labels.join(".");
        const url = agentUrl(`https://${host}/p`);
        fc.pre(url !== null);
        const isMeant = labels.length === 3 && host.endsWith(".example.com");
        expect(trustOf(url, trusted("https://*.example.com/*")) !== null).toBe(isMeant);
      }),
      { examples: [[["a", "example", "com"]], [["example", "com"]], [["a", "b", "example", "com"]]] },
    );
  });

  it.each([
    ["*"],
    ["https://*"],
    ["https://*/*"],
    ["https://*.com/*"],
    ["https://*.localhost/*"],
    ["https://*.127.0.0.1/*"],
    ["https://*.1/*"],
    ["https://a.*.example.com/*"],
    ["https://*example.com/*"],
    ["https://*.*.example.com/*"],
    ["https://platform.example/*/keys"],
    ["https://platform.example/agents*"],
    ["https://platform.example"],
    ["http://platform.example/*"],
    ["http://*.example.com/*"],
    ["https://user@platform.example/*"],
    ["https://platform.example/p?a=b&/*"],
    ["platform.example/*"],
    ["https://platform.example./*"],
    [""],
  ])("must not be %s", (entry) => {
    expect(parseTrust(entry).ok).toBe(false);
  });
});
