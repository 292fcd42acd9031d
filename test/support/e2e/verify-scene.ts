// A gateway with one shard whose routes ask the origin what became of a lost attempt, and the common parts of its tests: a lost
// answer, the origin's report, and the credentials of the questions.

import { expect } from "vitest";
import type { GatewayVars } from "../gateway.ts";
import { headerValue, type RawResponse } from "../http.ts";
import type { Behaviour, OriginClient, RecordedRequest } from "../origin.ts";
import { expectProblem, expectRetryAfter } from "./problem.ts";
import type { Message, Scene } from "./scene.ts";

export type Sent = Message & { readonly key: string };

export const VERIFY = { unknown: "verify", verify: "/by-key/{key}" };
/** No lock ends during a test. */
export const LOCKED = { ...VERIFY, lock: "10m" };
export const SETTINGS: GatewayVars["IDEMPOTENCY"] = {
  shards: 1,
  timeout: "2s",
  idle_timeout: "2s",
  retention: "1h",
};

export function lookUpPath(key: string): string {
  return `/by-key/${encodeURIComponent(key)}`;
}

/** Sets how the origin answers the question about a key. A later call replaces the answer. */
export function tellOf(origin: OriginClient, key: string, behaviour: Behaviour): Promise<void> {
  return origin.behave({ key, path: lookUpPath(key) }, { effect: false, ...behaviour });
}

export async function verifications(origin: OriginClient, key: string): Promise<readonly RecordedRequest[]> {
  return (await origin.requests(key)).filter(({ method }) => method === "GET");
}

export async function attempts(origin: OriginClient, key: string): Promise<readonly RecordedRequest[]> {
  return (await origin.requests(key)).filter(({ method }) => method === "POST");
}

/** The origin acts, and resets the connection before it has answered. `sentKey` is the key as the origin knows it. */
export async function loseAnswer(scene: Scene, message: Sent, sentKey = message.key): Promise<void> {
  await scene.origin.behave({ key: sentKey }, { drop: "after-effect" });
  const response = await scene.send(message);
  expectProblem(response, { code: "origin-dropped", status: 502, retryable: true, echo: message.key });
  expectRetryAfter(response, 1);
}

/** The same where the origin cannot be asked about the key. */
export async function loseAnswerForGood(scene: Scene, message: Sent): Promise<void> {
  await scene.origin.behave({ key: message.key }, { drop: "after-effect" });
  const response = await scene.send(message);
  expectProblem(response, { code: "origin-dropped", status: 502, retryable: false, echo: message.key });
}

/** The outcome is unknown and the gateway does not ask: an operator has to decide. */
export function expectHeld(response: RawResponse, key: string): void {
  expectProblem(response, { code: "outcome-unknown", status: 409, retryable: false, echo: key });
}

/** The outcome is not yet known; a later retry may get it. */
export function expectOpen(response: RawResponse, key: string, mostSeconds: number): void {
  expectProblem(response, { code: "outcome-unknown", status: 409, retryable: true, echo: key });
  expectRetryAfter(response, mostSeconds);
}

/** The answer that the origin gave when it was asked. */
export function expectGiven(response: RawResponse, status: number, body: string | Buffer): void {
  const replayed = headerValue(response, "idempotent-replayed");
  expect({ status: response.status, replayed }).toEqual({ status, replayed: "true" });
  expect(response.body.equals(Buffer.from(body))).toBe(true);
}
