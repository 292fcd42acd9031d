// The running gateway under malformed and odd requests: no failure without a problem document, no effect on a protected path
// without a claim, no access to internal calls, and never two effects for one request. fast-check prints the seed and the path
// of a failure; a counterexample becomes a named test.

import { rm } from "node:fs/promises";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeStateDir, startWorkerd } from "../../../support/gateway.ts";
import type { Gateway } from "../../../support/gateway.ts";
import { endpoint, freshKey, headerValue, NoAnswerError, openRequest } from "../../../support/http.ts";
import type { HeaderPair, RawRequest, RawResponse } from "../../../support/http.ts";
import { startOrigin } from "../../../support/origin.ts";
import type { RecordedRequest, TestOrigin } from "../../../support/origin.ts";
import { isLong } from "../../../support/long.ts";
import { type Issuer, startIssuer } from "../../../support/issuer.ts";
import {
  type CallersOperation,
  callersOperations,
  callersVars,
  lateOperations,
} from "../../../support/e2e/fuzz-callers.ts";
import { playLate, playOperation, type Stage } from "../../../support/e2e/fuzz-callers-play.ts";
import * as arbitrary from "../../../support/e2e/fuzz-requests.ts";
import { type FuzzRequest, isProtectedPath, resemblesProtectedPath } from "../../../support/e2e/fuzz-requests.ts";
import { type ModelRun, modelRun, playModel } from "../../../support/e2e/fuzz-model.ts";
import { essence, isReplay, problemCode, problemOf, send, until } from "../../../support/e2e/guarantees-client.ts";
import { readLedgers } from "../../../support/e2e/guarantees-ledger.ts";
import { clientOf, removeGateway } from "../../../support/e2e/scene.ts";
import { freshSecret } from "../../../support/e2e/encrypted-scene.ts";

const PROTECTED_METHODS = ["POST", "PATCH", "PUT", "DELETE"];
/** Marks every answer of the origin, to distinguish it from the gateway's own. */
const ORIGIN_MARK: HeaderPair = ["X-From-Origin", "yes"];
/** Numbers a request, through to the origin. */
const CASE_HEADER = "X-Case";
/** Longer than any answer takes. */
const UNFINISHED_MS = 250;
/** The model waits for the end of the short one only. */
const MODEL_LOCK_MS = { retry: 40_000, hold: 40_000, short: 2_100 };

let origin: TestOrigin;
let gateway: Gateway;
/** A completed record, made before anything else: nothing may touch it. */
const marker = { path: "/p/marker", key: freshKey(), headers: [["Authorization", "Bearer marker"]] as const };
let markerAnswer: RawResponse;
/** Calls on protected paths over all runs. Each is one record in the ledgers. */
let claims = 0;
/** Requests whose answer nobody has seen. The origin's parser may have refused their calls before any handler saw them. */
let unheard = 0;
let cases = 0;

beforeAll(async () => {
  origin = await startOrigin();
  const vars = {
    IDEMPOTENCY: { origin: origin.url, shards: 4, timeout: "5s", lock: "40s" },
    ROUTES: [
      { path: "/p/*", methods: PROTECTED_METHODS },
      // An API may use the same paths as the gateway's internal calls.
      { path: "/do/*", methods: PROTECTED_METHODS },
      // The model knows no call that takes too long: a busy machine may stand still for seconds.
      { path: "/model/retry", unknown: "retry", timeout: "30s" },
      { path: "/model/hold", unknown: "hold", timeout: "30s" },
      { path: "/model/short", unknown: "retry", timeout: "2s", lock: `${MODEL_LOCK_MS.short}ms` },
    ],
  };
  await origin.behave({}, { status: 201, headers: [[...ORIGIN_MARK]], body: "ok" });
  gateway = await startWorkerd({ vars, stateDir: await makeStateDir() });
  markerAnswer = await send(gateway.url, marker);
});
afterAll(async () => {
  await gateway.stop();
  await rm(gateway.stateDir, { recursive: true, force: true });
  await origin.close();
});

interface Outcome {
  readonly request: FuzzRequest;
  readonly number: number;
  /** `null` when the connection ended without an answer. */
  readonly response: RawResponse | null;
  /** No answer came, and the connection did not end. */
  readonly isHung: boolean;
}

async function fire(request: FuzzRequest, number: number): Promise<Outcome> {
  const opened = openRequest({ ...endpoint(gateway.url), ...onTheWire(request, number), timeoutMs: 10_000 });
  const { body } = request;
  if (body.kind === "truncated") {
    await opened.sent.catch(() => null);
    opened.reset();
  }
  // A body that the gateway takes for unfinished is waited for; nothing more is coming.
  const patience = body.kind === "raw" ? setTimeout(() => opened.reset(), UNFINISHED_MS) : undefined;
  opened.head.then(
    // An upgrade that the origin takes has no end of its own.
    ({ status }) => status === 101 && opened.reset(),
    () => null,
  );
  let isHung = false;
  const response = await opened.response.catch((error: unknown) => {
    isHung = error instanceof NoAnswerError;
    return null;
  });
  clearTimeout(patience);
  return { request, number, response, isHung };
}

function onTheWire({ method, target, headers, body }: FuzzRequest, number: number): Omit<RawRequest, "host" | "port"> {
  const lines: HeaderPair[] = [[CASE_HEADER, String(number)], ...headers];
  switch (body.kind) {
    case "none":
      return { method, target, headers: lines };
    case "whole":
      return { method, target, headers: lines, body: Buffer.from(body.bytes), chunked: body.chunked };
    case "raw":
      return { method, target, headers: [...lines, ...body.framing], body: Buffer.from(body.bytes) };
    case "truncated": {
      const { bytes, chunked } = body;
      const framing: HeaderPair = chunked
        ? ["Transfer-Encoding", "chunked"]
        : ["Content-Length", String(bytes.length + 10)];
      const sent = chunked ? Buffer.concat([Buffer.from("fff\r\n"), bytes]) : Buffer.from(bytes);
      return { method, target, headers: [...lines, framing], body: sent };
    }
  }
}

/** Sends all of them at once, and checks what came back and what came through. Returns the calls that the origin got. */
async function volley(requests: readonly FuzzRequest[]): Promise<readonly RecordedRequest[]> {
  const outcomes = await Promise.all(
    requests.map((request) => {
      cases += 1;
      return fire(request, cases);
    }),
  );
  for (const outcome of outcomes) expectGoodAnswer(outcome);
  claims += outcomes.filter(wasRefusedByOriginsParser).length;
  unheard += outcomes.filter(({ response }) => response === null).length;
  const calls = await takeCalls();
  expectGoodCalls(calls);
  return calls;
}

async function doNoHarm(requests: readonly FuzzRequest[]): Promise<void> {
  await volley(requests);
}

/** The calls since the last time. Some may belong to earlier requests: a client that has left does not see its call arrive. */
async function takeCalls(): Promise<readonly RecordedRequest[]> {
  const calls = await origin.take();
  claims += calls.filter(({ attempt }) => attempt !== null).length;
  return calls;
}

function expectGoodAnswer({ request, response, isHung }: Outcome): void {
  // The runtime resets a connection on which it has refused a malformed head, so no client waits.
  expect({ request, isHung }).toEqual({ request, isHung: false });
  if (response === null) return;
  const text = response.body.toString("latin1");
  // Of a record, of itty-durable, or of an error's stack.
  expect(text).not.toMatch(
    /attemptId|lockedUntil|retryFrom|"policy"|Bad request to durable object|does not contain method|\.ts:\d|\.js:\d/,
  );
  if (headerValue(response, ORIGIN_MARK[0]) !== null || response.status < 500) return;
  if (isRuntimeRefusal(request, response)) return;
  expect(headerValue(response, "content-type")).toBe("application/problem+json");
  if (request.method !== "HEAD") expect(problemOf(response).status).toBe(response.status);
}

/** A claim was made, but the origin's own parser refused the call (a bad `Expect`, a control character): no handler has seen it. */
function wasRefusedByOriginsParser({ response }: Outcome): boolean {
  if (response === null || isReplay(response)) return false;
  return headerValue(response, "idempotency-expires") !== null && headerValue(response, ORIGIN_MARK[0]) === null;
}

/** Answers that the runtime gives before the Worker gets the request. */
function isRuntimeRefusal({ method }: FuzzRequest, { status, body }: RawResponse): boolean {
  if (status === 501) return body.toString() === "ERROR: Unrecognized request method.";
  return method === "CONNECT" && status === 500;
}

function isProtectedCall({ method, url }: RecordedRequest): boolean {
  return PROTECTED_METHODS.includes(method) && isProtectedPath(url);
}

function mayBeProtected({ method, url }: RecordedRequest): boolean {
  return PROTECTED_METHODS.includes(method) && resemblesProtectedPath(url);
}

function expectGoodCalls(calls: readonly RecordedRequest[]): void {
  for (const call of calls) {
    // A request that the gateway did not number comes through where no route protects, and nowhere else.
    const attempts = call.headers.filter(([name]) => name.toLowerCase() === "idempotency-attempt");
    const numbers = attempts.map(([, value]) => value);
    const allowed = isProtectedCall(call) ? [["1"]] : mayBeProtected(call) ? [["1"], []] : [[]];
    expect({ method: call.method, url: call.url, numbers, allowed }).toMatchObject({
      numbers: allowed.find((one) => one.length === numbers.length) ?? allowed,
    });
  }
  const claimed = calls.filter(({ attempt }) => attempt !== null);
  expectNoneTwice(claimed.map((call) => headerValue(call, CASE_HEADER)));
  const named = claimed.filter(({ key }) => key !== null);
  expectNoneTwice(
    named.map((call) => {
      const { key, method, url, body } = call;
      return JSON.stringify([key, headerValue(call, "authorization"), method, url, body?.sha256]);
    }),
  );
}

function expectNoneTwice(values: readonly unknown[]): void {
  expect(values.filter((value, index) => values.indexOf(value) !== index)).toEqual([]);
}

/**
 * A batch costs a few milliseconds, runs of the model a few seconds. The limit is for shrinking: locks take their time. Runs
 * that it cuts off fail, so that none pass unrun.
 */
function parameters(numRuns: number): fc.Parameters<unknown> {
  const interruptAfterTimeLimit = 60_000;
  return { numRuns: isLong ? numRuns : Math.ceil(numRuns / 10), interruptAfterTimeLimit, markInterruptAsFailure: true };
}

/** Batches: a request alone would mostly wait for the network. */
function batch(one: fc.Arbitrary<FuzzRequest>): fc.Arbitrary<FuzzRequest[]> {
  return fc.array(one, { minLength: 1, maxLength: 32, size: "max" });
}

const plainBody = fc.constant({ kind: "whole", bytes: Buffer.from("{}"), chunked: false } as const);

/** A fresh valid key, for tests that do not vary the key. */
const ownKey: fc.Arbitrary<HeaderPair> = fc.uuid().map((key) => ["Idempotency-Key", key]);

// What a client has sent that left before its answer came is not the next test's.
beforeEach(takeCalls);

// In this order: what is counted in the end is what came before, and the last two forget what the origin has got.
describe("a gateway that gets anything", { shuffle: false }, () => {
  describe("malformed and odd requests", () => {
    it("do no harm, whatever their headers", async () => {
      const request = fc.record({
        method: fc.constantFrom("POST", "PUT", "GET"),
        target: fc.constantFrom("/p/headers", "/p/headers", "/do/call/destroy", "/free"),
        headers: arbitrary.headerLines,
        body: plainBody,
      });
      await fc.assert(fc.asyncProperty(batch(request), doNoHarm), parameters(250));
    });

    it("do no harm, whatever their target and host", async () => {
      const request = fc.record({
        method: fc.constantFrom("POST", "POST", "GET", "DELETE"),
        target: arbitrary.target,
        headers: fc.tuple(ownKey, arbitrary.host).map(([key, host]): HeaderPair[] => [key, ["Host", host]]),
        body: plainBody,
      });
      await fc.assert(fc.asyncProperty(batch(request), doNoHarm), parameters(250));
    });

    it("do no harm, whatever their method", async () => {
      const request = fc.record({
        method: arbitrary.method,
        target: fc.constantFrom("/p/methods", "/free", "/do/call/destroy", "/.well-known/idempotency"),
        headers: ownKey.map((key) => [key]),
        body: fc.oneof(plainBody, fc.constant({ kind: "none" } as const)),
      });
      await fc.assert(fc.asyncProperty(batch(request), doNoHarm), parameters(120));
    });

    it("do no harm, whatever their body", async () => {
      const request = fc.record({
        method: fc.constantFrom("POST", "PATCH", "DELETE", "GET"),
        target: fc.constantFrom("/p/bodies", "/p/bodies", "/free"),
        headers: ownKey.map((key) => [key]),
        body: arbitrary.body,
      });
      await fc.assert(fc.asyncProperty(batch(request), doNoHarm), parameters(120));
    });

    it("do no harm when everything about them is odd", async () => {
      const request = fc.record({
        method: arbitrary.method,
        target: arbitrary.target,
        headers: fc.tuple(arbitrary.headerLines, arbitrary.host).map(([lines, host]) => lines.concat([["Host", host]])),
        body: arbitrary.body,
      });
      await fc.assert(fc.asyncProperty(batch(request), doNoHarm), parameters(250));
    });

    it("have one effect when the same request comes several times at once, and no other scope shares it", async () => {
      const keyed = fc.record({
        key: fc.stringMatching(/^[\x21\x23-\x2b\x2d-\x7e]{1,30}$/),
        quoted: fc.boolean(),
        body: fc.uint8Array({ maxLength: 20 }),
      });
      const property = fc.asyncProperty(fc.array(keyed, { minLength: 1, maxLength: 6 }), async (operations) => {
        const run = freshKey();
        const requests = operations.flatMap(({ key, quoted, body }) => {
          const name = `${run}${key}`;
          const sent = quoted ? `"${name.replaceAll("\\", "\\\\")}"` : name;
          return ["Bearer a", "Bearer b"].flatMap((credential) =>
            [sent, name, name].map((value): FuzzRequest => ({
              method: "POST",
              target: "/p/same",
              headers: [
                ["Idempotency-Key", value],
                ["Authorization", credential],
              ],
              body: { kind: "whole", bytes: body, chunked: false },
            })),
          );
        });
        const calls = await volley(requests);
        expect(calls.filter(({ key }) => key !== null && key.includes(run)).length).toBe(
          2 * new Set(operations.map(({ key }) => key)).size,
        );
      });
      await fc.assert(property, parameters(120));
    });
  });

  describe("counterexamples", () => {
    it.each([
      ["an asterisk for a target", "OPTIONS", "*", "127.0.0.1:8080"],
      ["a host with a space", "POST", "/p/x", "a b"],
      ["a host with half an address", "POST", "/p/x", "[::1"],
      ["a host with an impossible port", "POST", "/p/x", "a:99999"],
    ])("answer %s, of which no URL can be made, with a problem", async (_name, method, target, host) => {
      const headers: HeaderPair[] = [
        ["Idempotency-Key", freshKey()],
        ["Host", host],
      ];
      const { response } = await fire({ method, target, headers, body: { kind: "none" } }, 0);
      expect(response === null ? null : problemCode(response)).not.toBeNull();
    });

    it.each(["/p%2f%ff", "/%70%ff/..%2f..%2fp/x", "/free%ff%2f..%2fp/x"])(
      "protect %s, whose escapes are invalid UTF-8, for an origin that decodes them one by one",
      async (target) => {
        const key = freshKey();
        const request = {
          method: "POST",
          target,
          headers: [["Idempotency-Key", key]],
          body: { kind: "none" },
        } as const;
        const calls = await volley([request]);
        expect(isProtectedPath(target)).toBe(true);
        expect(calls.filter((call) => call.key === key).map(({ attempt }) => attempt)).toEqual(["1"]);
      },
    );

    it("refuse a key whose parameter is on a second header line", async () => {
      const key = freshKey();
      const headers: HeaderPair[] = [
        ["Idempotency-Key", `"${key}";p="x`],
        ["Idempotency-Key", 'y"'],
      ];
      const { response } = await fire({ method: "POST", target: "/p/x", headers, body: { kind: "none" } }, 0);
      expect(response === null ? null : problemCode(response)).toBe("key-invalid");
    });
  });

  describe("internal calls", () => {
    it.each([
      ["https://itty-durable/do/call/ask", 302],
      ["https://itty-durable/do/call/toJSON", 301],
      ["https://itty-durable/do/get-prop/state", 303],
      ["https://itty-durable/do/call/destroy", 302],
      ["https://key-shard/1/exchange", 307],
      ["/exchange", 308],
    ])("are not made by an origin that redirects to %s: that is an answer like any other", async (location, status) => {
      const call = { path: "/p/redirect", key: freshKey() };
      await origin.behave({ key: call.key }, { status, headers: [["Location", location], [...ORIGIN_MARK]] });
      const rows = (await readLedgers(gateway.stateDir)).length;
      const answer = await send(gateway.url, call);
      expect(answer.status).toBe(status);
      expect(headerValue(answer, "location")).toBe(location);
      expect(essence(await send(gateway.url, call))).toMatchObject({ status });
      expect((await readLedgers(gateway.stateDir)).length).toBe(rows + 1);
    });
  });

  describe("after all fuzzing", () => {
    it("the marker record still replays, byte for byte", async () => {
      const replayed = await send(gateway.url, marker);
      expect(isReplay(replayed)).toBe(true);
      expect(replayed.status).toBe(201);
      expect(essence(replayed)).toEqual(essence(markerAnswer));
    });

    it("each call that the origin got on a protected path has one record", async () => {
      // The attempts of clients that have left may still run.
      const rows = await until(
        () => readLedgers(gateway.stateDir),
        (all) => all.every(({ state }) => state !== "started"),
        20_000,
      );
      await takeCalls();
      expect(rows.length).toBeGreaterThanOrEqual(claims);
      expect(rows.length).toBeLessThanOrEqual(claims + unheard);
    });

    it("the gateway still answers a normal request", async () => {
      const answer = await send(gateway.url, { path: "/p/normal", key: freshKey() });
      expect(answer.status).toBe(201);
    });
  });

  describe("a few keys compared with a model", () => {
    it("answers, calls and counts as the model predicts", async () => {
      await origin.reset();
      const play = async (runs: readonly ModelRun[]): Promise<void> => {
        await Promise.all(runs.map((run) => playModel(run, gateway, origin, MODEL_LOCK_MS)));
      };
      // Together, because most of a run's time is spent waiting for locks.
      const runs = fc.array(modelRun, { minLength: 1, maxLength: 6, size: "max" });
      await fc.assert(fc.asyncProperty(runs, play), parameters(20));
    });
  });

  describe("operations of real clients", () => {
    let issuer: Issuer;
    let own: Gateway;
    let stage: Stage;
    beforeAll(async () => {
      issuer = await startIssuer("https://login.example.com");
      const bindings = { ENCRYPTION_SECRET: freshSecret() };
      own = await startWorkerd({ vars: callersVars(origin.url, issuer), stateDir: await makeStateDir(), bindings });
      await origin.reset();
      stage = { client: clientOf(own.url), origin, issuer };
    });
    afterAll(async () => {
      await removeGateway(own);
      await issuer.close();
    });

    it("take effect once, whatever their tries look like, and rivals get nothing of them", async () => {
      const play = async (operations: readonly CallersOperation[]): Promise<void> => {
        await Promise.all(operations.map((operation) => playOperation(operation, stage)));
      };
      await fc.assert(fc.asyncProperty(callersOperations, play), parameters(300));
    });

    it("take effect once, also when a try comes after the record has expired", async () => {
      const play = async (operations: readonly CallersOperation[]): Promise<void> => {
        await Promise.all(operations.map((operation) => playLate(operation, stage)));
      };
      await fc.assert(fc.asyncProperty(lateOperations, play), { ...parameters(10), interruptAfterTimeLimit: 110_000 });
    });
  });
});
