import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { OperatorTokens } from "../../../src/kernel/config/operators.ts";
import { operatorCalls } from "../../support/integration/operated-bench.ts";
import { beginSession, readSession, SESSION_MS } from "../../../src/operator/console/session.ts";

const ADMIN: OperatorTokens = { name: "admin", role: "admin", values: ["a".repeat(32)] };
const READER: OperatorTokens = { name: "reader", role: "reader", values: ["r".repeat(32)] };
const ANN: OperatorTokens = { name: "ann", role: "admin", values: ["n".repeat(32)] };
const TOKENS = [ADMIN, READER, ANN];
const NOW = 1_795_000_000_000;
const GENERATION = "0123456789abcdef".repeat(2);

describe("a session of the console", () => {
  it("gives its role until it ends, and not a moment longer", async () => {
    const value = await beginSession("reader", TOKENS, GENERATION, NOW);
    expect(await readSession(value, TOKENS, NOW + SESSION_MS - 1)).toMatchObject({
      role: "reader",
      generation: GENERATION,
    });
    expect(await readSession(value, TOKENS, NOW + SESSION_MS)).toBeNull();
  });

  it("has its own form token, which is not a session", async () => {
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

  it("ends when its operator's token is changed or removed, and nobody else's does", async () => {
    const [admin, reader, ann] = await Promise.all(
      TOKENS.map(({ name }) => beginSession(name, TOKENS, GENERATION, NOW)),
    );
    const changed = [{ ...ADMIN, values: ["b".repeat(32)] as const }, READER];
    expect(await readSession(admin, changed, NOW)).toBeNull();
    expect(await readSession(ann, changed, NOW)).toBeNull();
    expect(await readSession(reader, changed, NOW)).toMatchObject({ name: "reader", role: "reader" });
  });

  it("goes on while the token before is still configured, and has the role that is configured now", async () => {
    const value = await beginSession("ann", TOKENS, GENERATION, NOW);
    const rotated: OperatorTokens = { name: "ann", role: "reader", values: ["m".repeat(32), "n".repeat(32)] };
    expect(await readSession(value, [rotated], NOW)).toMatchObject({ name: "ann", role: "reader" });
    expect(await readSession(value, [{ ...rotated, values: ["m".repeat(32)] }], NOW)).toBeNull();
  });

  it("is not another operator's, whatever name is written into it", async () => {
    const value = await beginSession("reader", TOKENS, GENERATION, NOW);
    expect(await readSession(value.replace("reader", "ann"), TOKENS, NOW)).toBeNull();
    // Signed by a reader, who knows his own token.
    const forged = await beginSession("ann", [{ ...ANN, values: READER.values }], GENERATION, NOW);
    expect(await readSession(forged, TOKENS, NOW)).toBeNull();
  });

  it.each(["", "admin", "admin.1.2.3", "root.9999999999999.0.0.0"])("is not %j", async (value) => {
    expect(await readSession(value, TOKENS, NOW)).toBeNull();
  });
});

describe("the generation of sessions", () => {
  const operators = () => operatorCalls(env.KEY_SHARD.get(env.KEY_SHARD.newUniqueId()));

  it("stays the same until all sessions are ended, and never returns", async () => {
    const one = operators();
    const generation = await one.sessions();
    expect(await one.sessions()).toBe(generation);
    await one.endSessions();
    expect(await one.sessions()).not.toBe(generation);
  });

  it("differs from object to object: when the configuration names another object, ended sessions stay ended", async () => {
    const [one, other] = [await operators().sessions(), await operators().sessions()];
    expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(other).not.toBe(one);
  });
});
