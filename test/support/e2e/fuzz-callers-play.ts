// Plays operations of real clients against a gateway, and compares: one effect for each, whatever its tries look like, and for each
// rival what it must get.

import { expect } from "vitest";
import type { Issuer } from "../issuer.ts";
import { freshKey, headerValue, type HeaderPair, type RawResponse } from "../http.ts";
import type { OriginClient } from "../origin.ts";
import { type CallersOperation, LISTED, messageOf, pathOf, type Spelling } from "./fuzz-callers.ts";
import { essence, isReplay, problemCode, until } from "./guarantees-client.ts";
import type { Client } from "./scene.ts";

const CALLER = "ada";
const OTHER_CALLER = "bob";
/** Nobody's operation is hers. */
const STRANGER = "mallory";

export interface Stage {
  readonly client: Client;
  readonly origin: OriginClient;
  readonly issuer: Issuer;
}

export async function playOperation(operation: CallersOperation, stage: Stage): Promise<void> {
  const { route, amount, tries } = operation;
  const key = freshKey();
  const at = async (how: Spelling): Promise<RawResponse> => {
    const sent = messageOf(route, amount, how, { key, id: key, token: await stage.issuer.token(CALLER) });
    return expectForPage(await stage.client.send(sent), how);
  };
  const [last, ...together] = tries;
  if (last === undefined) throw new Error("an operation has tries");
  const early = await Promise.all(together.map(at));
  const accepted = early.filter(({ status }) => status === 202);
  if (route !== "later") expect({ operation, accepted: accepted.length }).toEqual({ operation, accepted: 0 });
  // Whichever comes first, its client does not wait.
  else if (together.every(({ prefers }) => prefers === "respond-async")) expect(accepted).not.toEqual([]);
  const [result] = await Promise.all(accepted.map((response) => resultOf(operation, response, stage)));
  // A request that was accepted is answered with 202 until it has its result.
  const replayed = await until(
    () => at(last),
    ({ status }) => status !== 202,
    20_000,
  );
  expectResult(operation, replayed);
  expect({ operation, isReplay: isReplay(replayed) }).toEqual({ operation, isReplay: true });
  for (const response of [...early, ...(result === undefined ? [] : [result])]) {
    if (response.status === 202) continue;
    expectResult(operation, response);
    expect(comparable(response)).toEqual(comparable(replayed));
  }
  expect({ operation, effects: await effectsOf(operation, key, stage) }).toEqual({ operation, effects: 1 });
  await playRival(operation, key, last, stage);
}

async function effectsOf({ route }: CallersOperation, id: string, { origin }: Stage): Promise<number> {
  const effects = await origin.effectLog();
  return effects.filter(({ path }) => path === pathOf(route, id)).length;
}

function expectResult(operation: CallersOperation, response: RawResponse): void {
  const { status } = response;
  expect({ operation, status, code: problemCode(response) }).toEqual({ operation, status: 201, code: null });
}

/** What every caller of one operation gets. The pages differ, and a monitor is stored by nobody and shown as no page. */
function comparable(response: RawResponse): object {
  const own =
    /^(access-control-|vary$|cache-control$|content-security-policy$|x-content-type-options$|date$|connection$|keep-alive$|idempotency-key$)/i;
  return essence({ ...response, headers: response.headers.filter(([name]) => !own.test(name)) });
}

/** Follows a monitor with a fresh token; a stranger learns nothing of it. */
async function resultOf(operation: CallersOperation, accepted: RawResponse, stage: Stage): Promise<RawResponse> {
  const monitor = headerValue(accepted, "location") ?? "";
  const look = async (caller: string): Promise<RawResponse> => {
    const headers: HeaderPair[] = [
      ["Authorization", `Bearer ${await stage.issuer.token(caller)}`],
      ["Prefer", "wait=5"],
    ];
    return stage.client.send({ method: "GET", path: monitor, headers, body: null });
  };
  const strange = await look(STRANGER);
  expect({ operation, code: problemCode(strange) }).toEqual({ operation, code: "monitor-not-found" });
  return until(
    () => look(CALLER),
    ({ status }) => status !== 202,
    20_000,
  );
}

async function playRival(operation: CallersOperation, key: string, how: Spelling, stage: Stage): Promise<void> {
  const { route, amount, rival } = operation;
  const { issuer } = stage;
  // A body is searched for a key only if no other place has one.
  const plain: Spelling = { ...how, key: "both", prefers: "nothing" };
  const send = async (rivalAmount: number, token: string, keys: object = {}): Promise<string | null> => {
    const message = messageOf(route, rivalAmount, plain, { key, id: key, token, ...keys });
    const response = expectForPage(await stage.client.send(message), plain);
    return problemCode(response) ?? headerValue(response, "idempotency-status");
  };
  const expectRival = (got: string | null, wanted: string): void =>
    expect({ operation, got }).toEqual({ operation, got: wanted });
  let effects = 1;
  switch (rival) {
    case "none":
      return;
    case "caller":
      expectRival(await send(amount, await issuer.token(OTHER_CALLER)), "first");
      effects = 2;
      break;
    case "amount":
      expectRival(await send(amount + 1, await issuer.token(CALLER)), "key-reused");
      break;
    case "keys":
      expectRival(await send(amount, await issuer.token(CALLER), { otherKey: freshKey() }), "key-invalid");
      break;
    case "forged": {
      // Whether its key is a new one of the issuer's is asked every ten seconds at most.
      const got = await send(amount, await issuer.token(CALLER, { unpublished: true }));
      expectRival(got, got === "identity-unavailable" ? got : "credential-invalid");
      break;
    }
  }
  expect({ operation, effects: await effectsOf(operation, key, stage) }).toEqual({ operation, effects });
}

/** Only a listed page may read an answer, be it the origin's or the gateway's own. */
function expectForPage(response: RawResponse, { page }: Spelling): RawResponse {
  const allowed = headerValue(response, "access-control-allow-origin");
  expect({ page, status: response.status, allowed }).toMatchObject({ allowed: page === "listed" ? LISTED : null });
  return response;
}

/** One operation whose record expires: its late duplicates are told so, and have no effect. */
export async function playLate(operation: CallersOperation, stage: Stage): Promise<void> {
  const { route, amount, tries } = operation;
  const key = freshKey();
  const at = async (how: Spelling): Promise<string | null> => {
    const sent = messageOf(route, amount, how, { key, id: key, token: await stage.issuer.token(CALLER) });
    const response = expectForPage(await stage.client.send(sent), how);
    return problemCode(response) ?? headerValue(response, "idempotency-status");
  };
  let turn = 0;
  const next = (): Promise<string | null> => at(tries[turn++ % tries.length] ?? raise("an operation has tries"));
  expect(await next()).toBe("first");
  await until(next, (got) => got === "key-expired", 20_000);
  for (const how of tries) expect(await at(how)).toBe("key-expired");
  expect(await effectsOf(operation, key, stage)).toBe(1);
}

function raise(message: string): never {
  throw new Error(message);
}
