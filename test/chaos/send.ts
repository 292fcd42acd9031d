// One request of one client: sends it, perhaps disconnects in the middle of it, and records what came back.

import { openRequest } from "../support/http.ts";
import type { HeaderPair, OpenRequest } from "../support/http.ts";
import type { ChaosAgents } from "./agents.ts";
import { addressHeaders, callerOf } from "./callers.ts";
import type { Exchange } from "../guarantees/history.ts";
import { readEnding } from "../guarantees/recorders/answer.ts";
import { REQUEST_HEADER, sha256 } from "../guarantees/recorders/marks.ts";
import { CALLS_PATH, isKeyInBody } from "./routes.ts";
import { PLAN_HEADER, VERIFICATIONS_HEADER, TENANT_HEADER } from "./steps.ts";

/** Longer than any answer may take: waits, timeouts and the longest planned body together. */
export const PATIENCE_MS = 15_000;

export interface Call {
  readonly port: number;
  readonly id: string;
  readonly key: string;
  readonly scope: string;
  readonly credential: string;
  readonly path: string;
  readonly fingerprint: string;
  readonly plan: string;
  readonly verifications: string;
  readonly body: Buffer;
  readonly calm: boolean;
  readonly prefer: string | null;
  /** Who signs it; `null`: nobody. */
  readonly agents: Pick<ChaosAgents, "sign"> | null;
}

/** When the client resets its connection. */
export type Leaving =
  | { readonly when: "never" }
  /** In the middle of its own request. */
  | { readonly when: "sending" }
  | { readonly when: "after"; readonly ms: number }
  /** In the middle of the answer. */
  | { readonly when: "head" }
  /** Stops reading for `ms` within the answer, then disconnects or reads on. */
  | { readonly when: "stalled"; readonly ms: number; readonly leaves: boolean };

export async function exchange(call: Call, leaving: Leaving): Promise<Exchange> {
  const partial = leaving.when === "sending";
  const sentAt = Date.now();
  const headers = headersOf(call);
  const { port, path: target } = call;
  const url = `http://127.0.0.1:${port}${target}`;
  const signed = (await call.agents?.sign(call.scope, { method: "POST", url, headers, body: call.body })) ?? headers;
  const request = openRequest({
    host: "127.0.0.1",
    port,
    method: "POST",
    target,
    headers: signed,
    body: partial ? call.body.subarray(0, Math.floor(call.body.length / 2)) : call.body,
    timeoutMs: PATIENCE_MS,
  });
  let hasLeft = false;
  let stalledMs = 0;
  const leave = (): void => {
    hasLeft = true;
    request.reset();
  };
  const stalls = (ms: number): void => void (stalledMs = ms);
  const stop = arrange(request, leaving, leave, stalls);
  const ending = await readEnding(request.response, () => hasLeft, call.path === CALLS_PATH ? call.id : null);
  stop();
  const { id, key, scope, credential, path, fingerprint, prefer, calm, body } = call;
  const bytes = body.length;
  const caller = callerOf(scope);
  const sent = { key, scope, caller, credential, path, fingerprint, prefer, partial, bytes, bodySha256: sha256(body) };
  return { type: "exchange", id, ...sent, calm, sentAt, stalledMs, endAt: Date.now(), ending };
}

function headersOf({ key, scope, credential, path, plan, verifications, id, body, prefer }: Call): HeaderPair[] {
  return [
    ...(isKeyInBody(path) ? [] : [["Idempotency-Key", key] as const]),
    ["X-Key", key],
    ["Authorization", credential],
    [TENANT_HEADER, scope],
    ...addressHeaders(path, scope),
    [REQUEST_HEADER, id],
    [PLAN_HEADER, plan],
    [VERIFICATIONS_HEADER, verifications],
    ...(prefer === null ? [] : [["Prefer", prefer] as const]),
    ["Content-Type", "application/json"],
    ["Content-Length", String(body.length)],
  ];
}

/** Returns a function that cancels what was arranged. */
function arrange(request: OpenRequest, leaving: Leaving, leave: () => void, stalls: (ms: number) => void): () => void {
  switch (leaving.when) {
    case "never":
      return () => undefined;
    case "sending":
      void request.sent.then(leave, () => undefined);
      return () => undefined;
    case "after": {
      const timer = setTimeout(leave, leaving.ms);
      return () => clearTimeout(timer);
    }
    case "head":
      void request.head.then(leave, () => undefined);
      return () => undefined;
    case "stalled": {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const stall = (): void => {
        stalls(leaving.ms);
        request.pause();
        timer = setTimeout(() => (leaving.leaves ? leave() : request.resume()), leaving.ms);
      };
      void request.head.then(stall, () => undefined);
      return () => clearTimeout(timer);
    }
  }
}
