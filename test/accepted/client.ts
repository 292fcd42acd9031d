// A client that sends requests until they are accepted, whatever happens to the gateway, and reads their monitors afterwards.

import { setTimeout as pause } from "node:timers/promises";
import type { AcceptedScene } from "./scene.ts";

/** A request that the gateway has answered with 202. */
export interface AcceptedRequest {
  readonly key: string;
  readonly body: string;
  /** Its own, so that a search for it finds this request alone. */
  readonly credential: string;
  readonly monitor: string;
}

/** What a monitor says in the end, and what a retry gets. */
export interface Seen {
  readonly status: number;
  readonly code: string | null;
  readonly text: string;
}

const PAUSE_MS = 50;
/** More than a restart, a lock and the pauses between the tries of a refused request. */
const LONGEST_MS = 120_000;

type Url = AcceptedScene["url"];

/** Sends one request again and again until it is accepted. */
export async function untilAccepted(url: Url, key: string, refusals: number): Promise<AcceptedRequest> {
  // Its end tells it from one that begins alike.
  const credential = `Bearer credential-of-${key}-alone`;
  const body = JSON.stringify({ order: key, refusals });
  const headers = { authorization: credential, "idempotency-key": key };
  const response = await untilAnswered(
    url,
    "/orders",
    { method: "POST", headers, body },
    ({ status }) => status === 202,
  );
  const monitor = response.headers.get("location");
  if (monitor === null) throw new Error("a 202 without a monitor");
  await response.arrayBuffer();
  return { key, body, credential, monitor };
}

/** Reads the monitor until it tells more than that the request is at work. */
export async function untilEnded(url: Url, { monitor, credential }: AcceptedRequest): Promise<Seen> {
  return seenIn(await untilAnswered(url, monitor, { headers: { authorization: credential } }, isEnd));
}

export async function readMonitor(url: Url, monitor: string, credential: string): Promise<Seen> {
  return seenIn(await untilAnswered(url, monitor, { headers: { authorization: credential } }, () => true));
}

export async function retry(url: Url, { key, body, credential }: AcceptedRequest): Promise<Seen> {
  const headers = { authorization: credential, "idempotency-key": key };
  return seenIn(await untilAnswered(url, "/orders", { method: "POST", headers, body }, () => true));
}

function isEnd({ status, headers }: Response): boolean {
  return status !== 202 && headers.get("x-should-retry") !== "true";
}

/** Asks until there is such an answer; a gateway that is down gives none. */
async function untilAnswered(
  url: Url,
  path: string,
  init: RequestInit,
  isWanted: (response: Response) => boolean,
): Promise<Response> {
  const until = Date.now() + LONGEST_MS;
  for (;;) {
    const response = await fetch(`${url()}${path}`, init).catch(() => null);
    if (response !== null && isWanted(response)) return response;
    const said = response === null ? "nothing" : `${response.status} ${await response.text().catch(() => "")}`;
    if (Date.now() > until) throw new Error(`${path}: no end, the last answer was ${said}`);
    await pause(PAUSE_MS);
  }
}

async function seenIn(response: Response): Promise<Seen> {
  const text = await response.text();
  const isProblem = response.headers.get("content-type") === "application/problem+json";
  return { status: response.status, code: isProblem ? response.headers.get("idempotency-status") : null, text };
}
