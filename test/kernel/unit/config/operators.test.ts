// Operators with a name: those with a token, and those whom Cloudflare Access proves.

import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { roleOf } from "../../../../src/kernel/config/operators.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { PAYMENTS } from "./support.ts";

const ADMIN_TOKEN = "secret-of-an-admin-0123456789abc";
const ANN_TOKEN = "secret-of-ann-0123456789abcdefgh";
const BOB_TOKEN = "secret-of-bob-0123456789abcdefgh";
const ANN = { name: "ann", role: "admin", token: "ANN_TOKEN" };
const BOB = { name: "bob", role: "reader", token: "BOB_TOKEN" };
const ACCESS = { team: "https://acme.cloudflareaccess.com", audience: "32eafc", admins: ["Ann@Example.com"] };

const env = (more: Readonly<Record<string, unknown>>) => ({ ROUTES: [PAYMENTS], ...more });

function operatorsOf(more: Readonly<Record<string, unknown>>) {
  const reading = readConfig(env(more));
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.operators;
}

describe("OPERATORS", () => {
  it("have a name, a role and a token, with or without ADMIN_TOKEN", () => {
    const ann = { name: "ann", role: "admin", values: [ANN_TOKEN] };
    expect(operatorsOf({ OPERATORS: [ANN], ANN_TOKEN })).toEqual({ tokens: [ann], access: null });
    const all = operatorsOf({ OPERATORS: [ANN], OPERATORS_2: [BOB], ANN_TOKEN, BOB_TOKEN, ADMIN_TOKEN });
    expect(all?.tokens.map(({ name, role }) => `${name} ${role}`)).toEqual(["admin admin", "ann admin", "bob reader"]);
  });

  it("have two tokens while one is changed for another, the new one first", () => {
    const changing = { ...ANN, token: ["ANN_TOKEN", "BOB_TOKEN"] };
    expect(operatorsOf({ OPERATORS: [changing], ANN_TOKEN, BOB_TOKEN })?.tokens[0]?.values).toEqual([
      ANN_TOKEN,
      BOB_TOKEN,
    ]);
  });

  it("make READ_TOKEN useful without ADMIN_TOKEN", () => {
    expect(operatorsOf({ OPERATORS: [ANN], ANN_TOKEN, READ_TOKEN: BOB_TOKEN })?.tokens).toHaveLength(2);
  });

  it("have tokens that may not be in a file", () => {
    const [top] = checkWranglerConfig({ vars: env({ OPERATORS: [ANN], ANN_TOKEN }) });
    expect(top?.problems.map(({ path }) => path)).toContain("ANN_TOKEN");
    expect(JSON.stringify(top?.problems)).not.toContain("secret-of");
  });
});

describe("ACCESS", () => {
  it("lets people in without a token", () => {
    expect(operatorsOf({ ACCESS })).toEqual({
      tokens: [],
      access: {
        issuer: {
          issuer: "https://acme.cloudflareaccess.com",
          audience: ["32eafc"],
          claim: ["email"],
          jwks: "https://acme.cloudflareaccess.com/cdn-cgi/access/certs",
          algorithms: ["RS256"],
          clockToleranceMs: 30_000,
        },
        admins: ["ann@example.com"],
        readers: [],
      },
    });
  });

  it("knows a role by the address, or by its domain, and by nothing like it", () => {
    const access = operatorsOf({ ACCESS: { ...ACCESS, readers: ["*@example.com", "eve@partner.example"] } })?.access;
    if (access === undefined || access === null) throw new Error("no access");
    const roles = ["ann@example.com", "bob@example.com", "eve@partner.example", "ann@example.com.evil.example"];
    expect(roles.map((email) => roleOf(email, access))).toEqual(["admin", "reader", "reader", null]);
    expect(
      ["bob@partner.example", "example.com", "@example.com@evil.example", ""].map((one) => roleOf(one, access)),
    ).toEqual([null, null, null, null]);
  });
});
