import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutSession, withoutSessionCookie } from "../../../../src/kernel/request/session-cookie.ts";

const SESSION = `admin.1795267816000.${"0".repeat(32)}.${"4f".repeat(16)}.${"ab".repeat(32)}`;

describe("a Cookie header without the console's session", () => {
  it.each([
    [`__Host-onceway=${SESSION}`, null],
    [`onceway=${SESSION}`, null],
    [`a=1; __Host-onceway=${SESSION}`, "a=1"],
    [`__Host-onceway=${SESSION}; a=1`, "a=1"],
    [`a=1; __Host-onceway=${SESSION}; b="2 3"`, 'a=1; b="2 3"'],
    [`a=1;__Host-onceway=${SESSION};b=2`, "a=1;b=2"],
    // Two lines, as the runtime joins them.
    [`a=1, __Host-onceway=${SESSION}`, "a=1"],
    [`__Host-onceway=${SESSION}, a=1`, "a=1"],
    [`a=1, onceway=${SESSION}; b=2`, "a=1; b=2"],
    [`__Host-onceway=${SESSION}; onceway=${SESSION}; a=1`, "a=1"],
    [`a=1;  onceway =${SESSION} ; b=2`, "a=1; b=2"],
    [`onceway="${SESSION}"; a=1`, "a=1"],
    [`a=1; onceway=`, "a=1"],
  ])("%s", (cookies, left) => expect(withoutSessionCookie(cookies)).toBe(left));

  it.each([
    "a=1; b=2",
    "a=onceway; b=__Host-onceway",
    "xonceway=1",
    "onceway-theme=dark",
    "",
    "a",
    ";;",
    "a=1;onceway",
  ])("is unchanged if there is no session: %j", (cookies) => expect(withoutSessionCookie(cookies)).toBe(cookies));

  it("keeps every other cookie byte for byte, wherever the session is", () => {
    const cookie = fc.stringMatching(/^[a-z]{1,6}=[!-+\--:<-~]{0,12}$/).filter((text) => !text.startsWith("onceway="));
    fc.assert(
      fc.property(
        fc.array(cookie, { minLength: 1, maxLength: 5 }),
        fc.nat(),
        fc.constantFrom("__Host-onceway", "onceway"),
        fc.constantFrom("; ", ";", ", "),
        (others, at, name, separator) => {
          const all = others.toSpliced(at % (others.length + 1), 0, `${name}=${SESSION}`);
          expect(withoutSessionCookie(all.join(separator))).toBe(others.join(separator));
        },
      ),
    );
  });

  it("leaves a request without a session unchanged, and everything else of one that has it", async () => {
    const plain = new Request("https://api.example/", { headers: { Cookie: "a=1" } });
    expect(withoutSession(plain)).toBe(plain);
    const headers = { Cookie: `onceway=${SESSION}; a=1`, "X-Other": "yes" };
    const stripped = withoutSession(new Request("https://api.example/x", { method: "PUT", headers, body: "body" }));
    expect([stripped.method, stripped.url, await stripped.text()]).toEqual(["PUT", "https://api.example/x", "body"]);
    expect([...stripped.headers]).toContainEqual(["cookie", "a=1"]);
    expect([...stripped.headers]).toContainEqual(["x-other", "yes"]);
  });
});
