import { describe, expect, it } from "vitest";

import { checkWranglerConfig } from "../../../../src/cli/check/file.ts";
import { readConfig } from "../../../../src/features/settings.ts";
import { PAYMENTS, problemsOf } from "./support.ts";

const [FIRST, SECOND, THIRD, FOURTH] = ["a", "b", "c", "d"].map((letter) => letter.repeat(32));

const encrypted = (settings: object = {}, others: object = {}) => ({
  ROUTES: [{ ...PAYMENTS, encrypt_responses: true, ...settings }],
  ...others,
});

const lines = (env: Readonly<Record<string, unknown>>) =>
  problemsOf(env).map(({ path, message }) => `${path}: ${message}`);

describe("the secrets of encrypted routes", () => {
  it("are those whose names start with ENCRYPTION_SECRET, the newest first", () => {
    const secrets = { ENCRYPTION_SECRET_10: THIRD, ENCRYPTION_SECRET: FIRST, ENCRYPTION_SECRET_9: SECOND };
    expect(readConfig(encrypted({}, secrets))).toMatchObject({ ok: true, encryptionSecrets: [THIRD, SECOND, FIRST] });
  });

  it.each([[true], ["past"]])("are needed where encrypt_responses = %j, and nowhere else", (value) => {
    expect(lines(encrypted({ encrypt_responses: value }))).toEqual([
      "ROUTES[0].encrypt_responses: needs the secret ENCRYPTION_SECRET, and there is none: write the output of `openssl rand -hex 32` to npx wrangler secret put ENCRYPTION_SECRET, or into the environment of npm run serve -- --secret ENCRYPTION_SECRET",
    ]);
    expect(readConfig(encrypted({ encrypt_responses: false }))).toMatchObject({ ok: true, encryptionSecrets: [] });
  });

  it.each([
    ["too short", "a".repeat(31)],
    ["with a space", `${FIRST} `],
    ["beyond ASCII", `${FIRST}é`],
    ["no text", 7],
  ])("are refused if one is %s, and never shown", (_, value) => {
    const [line = "", ...others] = lines(encrypted({}, { ENCRYPTION_SECRET: value }));
    expect(others).toEqual([expect.stringContaining("needs the secret")].slice(0, others.length));
    expect(line).toContain("ENCRYPTION_SECRET: must be at least 32 visible ASCII characters without spaces");
    expect(line).not.toContain(String(value).slice(0, 20));
  });

  it("are refused if two are the same, or if there are more than three", () => {
    expect(lines(encrypted({}, { ENCRYPTION_SECRET: FIRST, ENCRYPTION_SECRET_2: FIRST }))).toEqual([
      expect.stringMatching(/^ENCRYPTION_SECRET_2: must differ/),
    ]);
    const many = {
      ENCRYPTION_SECRET_1: FIRST,
      ENCRYPTION_SECRET_2: SECOND,
      ENCRYPTION_SECRET_3: THIRD,
      ENCRYPTION_SECRET_4: FOURTH,
    };
    expect(lines(encrypted({}, many))).toEqual([
      expect.stringMatching(/^ENCRYPTION_SECRET_1: is one of 4 .* leave out the first ones/),
    ]);
  });

  it("do not belong in a file, and the check of a file does not miss them", () => {
    const vars = { IDEMPOTENCY: { origin: "https://api.example.com" }, ...encrypted() };
    const problems = (own: object) =>
      checkWranglerConfig({ vars: own })[0]?.problems.filter(
        ({ path }) => path.startsWith("ENCRYPTION") || path.startsWith("ROUTES"),
      );
    expect(problems(vars)).toEqual([]);
    expect(problems({ ...vars, ENCRYPTION_SECRET_2: FIRST })).toMatchObject([
      { path: "ENCRYPTION_SECRET_2", message: expect.stringContaining("npx wrangler secret put ENCRYPTION_SECRET_2") },
    ]);
  });
});

describe("encrypted", () => {
  const secret = { ENCRYPTION_SECRET: FIRST };

  it("cannot be combined with questions that need the caller's headers in the open", () => {
    const settings = { unknown: "verify", verify: "/v1/payments/by-key/{key}" };
    expect(lines(encrypted(settings, secret))).toEqual([
      expect.stringMatching(/^ROUTES\[0\]\.unknown: must not be "verify"/),
    ]);
    expect(readConfig(encrypted({ ...settings, encrypt_responses: "past" }, secret)).ok).toBe(true);
  });

  it.each([[true], ["past"]])("cannot be combined with older scopes (%j)", (value) => {
    const settings = {
      encrypt_responses: value,
      scope: ["header:x-tenant"],
      previous_scope: [["header:authorization"]],
    };
    expect(lines(encrypted(settings, secret))).toEqual([
      expect.stringMatching(/^ROUTES\[0\]\.previous_scope: must be empty with encrypt_responses/),
    ]);
  });

  it("cannot be combined with parts of the request that operators may read", () => {
    const settings = { note: { label: "json:/id", excerpt: 100 } };
    expect(lines(encrypted(settings, secret))).toEqual([
      expect.stringMatching(/^ROUTES\[0\]\.note\.label: would keep/),
      expect.stringMatching(/^ROUTES\[0\]\.note\.excerpt: would keep/),
    ]);
    expect(readConfig(encrypted({ ...settings, encrypt_responses: "past" }, secret)).ok).toBe(true);
  });
});
