// The same bytes sent three ways: straight to an origin, through a Worker that only forwards, and through the gateway. What
// is different between the first two is the platform's doing, between the last two the gateway's. Every kind of difference is a
// line of the tables in src/kernel/request/README.md; any other difference fails here. A longer run: ONCEWAY_DIFFERENTIAL_CASES=20000,
// another one: ONCEWAY_DIFFERENTIAL_SEED=7.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BY_FIRST, BY_PASSING, BY_PLATFORM, BY_REPLAY } from "../../../support/e2e/wire-allowances.ts";
import { type CaseKind, wireCases } from "../../../support/e2e/wire-cases.ts";
import { compareAll, expectNoneButAllowed } from "../../../support/e2e/wire-run.ts";
import { CASE_HEADER } from "../../../support/e2e/wire-origin.ts";
import { type Seen, startWays, type WireCase, type Ways } from "../../../support/e2e/wire-ways.ts";
import { isLong } from "../../../support/long.ts";

const CASES = Number(process.env["ONCEWAY_DIFFERENTIAL_CASES"] ?? (isLong ? 1_000 : 200));
const SEED = Number(process.env["ONCEWAY_DIFFERENTIAL_SEED"] ?? 1);
const TIMEOUT_MS = 120_000 + CASES * 50;

const OPEN: CaseKind = {
  methods: [
    "GET",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "PROPFIND",
    "TRACE",
    "QUERY",
    "LINK",
    "get",
  ],
  prefix: "/open",
  headers: () => [],
  statuses: [200, 200, 201, 204, 206, 299, 301, 304, 404, 422, 500, 503, 599, 600, 999],
};

const KEYED: CaseKind = {
  methods: ["POST", "PUT", "PATCH", "DELETE"],
  prefix: "/protected",
  headers: () => [["Idempotency-Key", randomUUID()]],
  // Those that are kept.
  statuses: [200, 200, 201, 204, 206, 299, 301, 304, 404, 422, 500, 599],
};

let ways: Ways;
beforeAll(async () => {
  ways = await startWays([{ path: "/protected/*", methods: [...KEYED.methods] }]);
});
afterAll(() => ways.close());

/** The origin has been asked, so that there is something to compare. */
const hasCome = ({ requests }: Seen): boolean => requests.length > 0;

/** Some targets lead out of the route (`/protected/../x`). */
const isProtected = ({ requests }: Seen): boolean => /^\/protected(?:[/?]|$)/.test(requests[0]?.target ?? "");

const isCutShort = ({ answer }: WireCase): boolean => answer.bytes.endsWith("half");

describe("every difference", () => {
  it(
    "through the platform is in its list",
    async () => {
      const compared = await compareAll(wireCases(OPEN, CASES, SEED), BY_PLATFORM, async (of) => [
        await ways.straight.send(of),
        await ways.plain.send(of),
      ]);
      // The runtime itself refuses the others; see below.
      const forwarded = compared.filter(({ other }) => hasCome(other));
      expect(forwarded.length).toBeGreaterThan(CASES / 2);
      expectNoneButAllowed(forwarded, BY_PLATFORM);
    },
    TIMEOUT_MS,
  );

  it(
    "through the gateway is in its list, where no route protects",
    async () => {
      const compared = await compareAll(wireCases(OPEN, CASES, SEED + 1), BY_PASSING, async (of) => [
        await ways.plain.send(of),
        await ways.gateway.send(of),
      ]);
      expect(compared.filter(({ one }) => hasCome(one)).length).toBeGreaterThan(CASES / 2);
      expectNoneButAllowed(compared, BY_PASSING);
    },
    TIMEOUT_MS,
  );

  it(
    "in the first answer to a key is in its list",
    async () => {
      const compared = await compareAll(wireCases(KEYED, CASES, SEED + 2), BY_FIRST, async (of) => [
        await ways.plain.send(of),
        await ways.gateway.send(of),
      ]);
      const firsts = compared.filter(({ one }) => isProtected(one));
      expect(firsts.length).toBeGreaterThan(CASES / 3);
      expectNoneButAllowed(firsts, BY_FIRST);
    },
    TIMEOUT_MS,
  );

  it(
    "between a first answer and its replay is in its list",
    async () => {
      const compared = await compareAll(wireCases(KEYED, CASES, SEED + 3), BY_REPLAY, async (of) => [
        await ways.gateway.send(of),
        await ways.gateway.send(of),
      ]);
      const replays = compared.filter(({ of, one }) => isProtected(one) && !isCutShort(of));
      expect(replays.length).toBeGreaterThan(CASES / 3);
      expectNoneButAllowed(replays, BY_REPLAY);
      for (const { other } of replays) expect(other.requests).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  it("stands in src/kernel/request/README.md, line by line", async () => {
    const readme = (
      await readFile(new URL("../../../../src/kernel/request/README.md", import.meta.url), "utf8")
    ).replaceAll(/\s+/g, " ");
    const reasons = [BY_PLATFORM, BY_PASSING, BY_FIRST, BY_REPLAY].flat().map(({ reason }) => reason);
    expect(reasons.filter((reason) => !readme.includes(reason))).toEqual([]);
  });
});

describe("requests that the runtime itself refuses", () => {
  const BARE = {
    headers: [["Host", "api.example.com"]] as const,
    body: "",
    answer: { bytes: "", after: "ends" } as const,
  };

  it.each([
    ["a method that it does not know", "LINK", "/open", 501],
    ["a method in lower case", "get", "/open", 501],
    ["a target with a space", "GET", "/open/a b", 400],
    ["a target with bytes beyond ASCII", "GET", "/open/\xe9", 400],
    ["a target whose escape is none", "GET", "/open/%zz", 200],
  ])("is the same for a Worker that only forwards: %s", async (_what, method, target, status) => {
    const answer = { bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", after: "stays" } as const;
    for (const way of [ways.plain, ways.gateway]) {
      const id = randomUUID();
      const headers = [...BARE.headers, [CASE_HEADER, id] as const];
      expect((await way.send({ ...BARE, id, method, target, headers, answer })).response?.status).toBe(status);
    }
  });
});
