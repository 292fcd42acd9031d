import { env } from "cloudflare:test";
import { SignJWT } from "jose";
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
    const [header = "", , signature = ""] = one.split(".");
    const claims = btoa(
      JSON.stringify({ sub: "admin", aud: "onceway console", exp: 9_999_999_999, generation: GENERATION }),
    );
    for (const end of [signature, tokens[0] ?? "", ""]) {
      expect(await readSession(`${header}.${claims.replaceAll("=", "")}.${end}`, TOKENS, NOW)).toBeNull();
    }
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
    const [header, claims = "", signature] = (await beginSession("reader", TOKENS, GENERATION, NOW)).split(".");
    const asAnn = btoa(atob(claims).replace("reader", "ann")).replaceAll("=", "");
    expect(await readSession([header, asAnn, signature].join("."), TOKENS, NOW)).toBeNull();
    expect(await readSession([header, claims, signature].join("."), TOKENS, NOW)).not.toBeNull();
    // Signed by a reader, who knows his own token.
    const forged = await beginSession("ann", [{ ...ANN, values: READER.values }], GENERATION, NOW);
    expect(await readSession(forged, TOKENS, NOW)).toBeNull();
  });

  it("is nothing that an operator's token has signed for something else, or without an end or an algorithm", async () => {
    const sign = (claims: object, alg = "HS256"): Promise<string> =>
      new SignJWT({ sub: "admin", generation: GENERATION, formToken: "f", ...claims })
        .setProtectedHeader({ alg })
        .sign(new TextEncoder().encode(ADMIN.values[0].repeat(2)));
    const twice = [{ ...ADMIN, values: [ADMIN.values[0].repeat(2)] as const }];
    const [aud, exp] = ["onceway console", NOW / 1000 + 60];
    expect(await readSession(await sign({ aud, exp }), twice, NOW)).toMatchObject({ name: "admin", role: "admin" });
    expect(await readSession(await sign({ aud: "another", exp }), twice, NOW)).toBeNull();
    expect(await readSession(await sign({ exp }), twice, NOW)).toBeNull();
    expect(await readSession(await sign({ aud }), twice, NOW)).toBeNull();
    expect(await readSession(await sign({ aud, exp, sub: "ann" }), twice, NOW)).toBeNull();
    expect(await readSession(await sign({ aud, exp }, "HS512"), twice, NOW)).toBeNull();
    const plain = [{ alg: "none" }, { sub: "admin", aud, exp, generation: GENERATION, formToken: "f" }];
    const unsigned = plain.map((part) => btoa(JSON.stringify(part)).replaceAll("=", "")).join(".");
    expect(await readSession(`${unsigned}.`, twice, NOW)).toBeNull();
  });

  it.each(["", "admin", "a.b.c", "e30.e30.e30", "e30.e30.", "e30.bnVsbA.e30"])("is not %j", async (value) => {
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
