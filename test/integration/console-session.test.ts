import { describe, expect, it } from "vitest";
import { beginSession, readSession, SESSION_MS } from "../../src/operator/console/session.ts";

const TOKENS = { admin: "a".repeat(32), read: "r".repeat(32) };
const NOW = 1_795_000_000_000;
const GENERATION = "0123456789abcdef".repeat(2);

describe("a session of the console", () => {
  it("tells the role until it ends, and not a moment longer", async () => {
    const value = await beginSession("reader", TOKENS, GENERATION, NOW);
    expect(await readSession(value, TOKENS, NOW + SESSION_MS - 1)).toMatchObject({
      role: "reader",
      generation: GENERATION,
    });
    expect(await readSession(value, TOKENS, NOW + SESSION_MS)).toBeNull();
  });

  it("has a form token of its own, which is no session", async () => {
    const [one, other] = await Promise.all([
      beginSession("admin", TOKENS, GENERATION, NOW),
      beginSession("admin", TOKENS, GENERATION, NOW),
    ]);
    const tokens = await Promise.all(
      [one, one, other].map(async (value) => (await readSession(value, TOKENS, NOW))?.formToken),
    );
    expect(tokens[0]).toBe(tokens[1]);
    expect(tokens[0]).not.toBe(tokens[2]);
    const claims = one.split(".").slice(0, 4).join(".");
    expect(await readSession(`${claims}.${tokens[0] ?? ""}`, TOKENS, NOW)).toBeNull();
  });

  it("ends when its token changes or is no more", async () => {
    const admin = await beginSession("admin", TOKENS, GENERATION, NOW);
    const reader = await beginSession("reader", TOKENS, GENERATION, NOW);
    expect(await readSession(admin, { ...TOKENS, admin: "b".repeat(32) }, NOW)).toBeNull();
    expect((await readSession(reader, { ...TOKENS, admin: "b".repeat(32) }, NOW))?.role).toBe("reader");
    expect(await readSession(reader, { ...TOKENS, read: null }, NOW)).toBeNull();
  });

  it.each(["", "admin", "admin.1.2.3", "root.9999999999999.0.0.0"])("is not %j", async (value) => {
    expect(await readSession(value, TOKENS, NOW)).toBeNull();
  });
});
