// From a request that has passed to what is said of it: the request is read again from its copy, by the code that reads protected requests, so that key,
// caller and fingerprint are what they would have been.

import { coversBody } from "../../kernel/config/identity.ts";
import { singleHeaders } from "../../kernel/config/key-source.ts";
import type { ClientProblemCode } from "../../kernel/record/problem.ts";
import type { SightingClass } from "../../kernel/record/sighting.ts";
import { type AttemptEnd, isSuccessStatus, judgeAttempt } from "../../kernel/record/verdict.ts";
import { digest } from "../../kernel/request/digest.ts";
import { readExchange, type ReadPorts } from "../../kernel/request/exchange-request.ts";
import { namerOf, readScopes } from "../../kernel/request/read-scopes.ts";
import { declaredLength, HeaderSnapshot } from "../../kernel/request/headers.ts";
import { type ExchangeIntent, protectedIntent } from "../../kernel/request/intent.ts";
import type { ExchangeRequest } from "../../kernel/request/message.ts";
import { hasScopeInBody, jsonParts, proofsWithBody } from "../../kernel/request/scope-in-body.ts";
import { isSomebody } from "../../kernel/request/record-name.ts";
import { NO_PROOFS, UNREAD } from "../../kernel/request/scope.ts";
import { effectIn } from "./effect.ts";
import { shareOf } from "./key-share.ts";
import type { BodyCopy } from "./body-copy.ts";
import type { SeenRequest } from "./request-look.ts";
import type { SightedEnd, RequestSighting, SightingMark } from "./sighting.ts";

export interface ReadSighting {
  /** Why the route would have refused the request; `null`: it would not. */
  readonly problem: SightingClass | null;
  /** `null`: there is nothing to compare. */
  readonly sighting: RequestSighting | null;
  /** The key as the client sent it; `null` without one. */
  readonly key: string | null;
}

const TELEMETRY = { log: "none", serverTiming: false, trace: null } as const;

export async function readSighting(seen: SeenRequest, reading: ReadPorts): Promise<ReadSighting> {
  const { url, route, sent } = seen;
  const names = singleHeaders(route.keyFrom);
  if (sent.kind === "broken") return refused("request-invalid");
  const body = names === null || route.contentKey !== null ? null : heldCopy(sent);
  const request = body === null ? copiedRequest(seen) : seen.request;
  const length = body === null ? (declaredLength(request.headers) ?? 0) : body.body.bytes.byteLength;
  const isLimited = route.fingerprint.body !== "none";
  if (isLimited && length > route.maxRequestBodyBytes) return refused("body-too-large");
  const { origin, trustForwarded } = route;
  const passing = { request, url, origin, trustForwarded, keyNames: [] };
  const intent = protectedIntent(passing, route, { names, alternatives: [] });
  const isBodyNeeded = intent.kind === "search" || route.identities.some(coversBody);
  if (isBodyNeeded && sent.kind === "not-copied") return refused("body-too-large");
  const keyless = (code: ClientProblemCode | null): Promise<ReadSighting> =>
    readKeyless(
      { kind: "exchange", request, headers: new HeaderSnapshot(request.headers), url, route, key: NO_KEY },
      seen,
      reading,
      code,
    );
  switch (intent.kind) {
    case "pass":
      return keyless(null);
    case "refuse-exchange":
      return intent.problem.code === "key-missing" ? keyless("key-missing") : refused(intent.problem.code);
    case "exchange":
    case "search": {
      const read = await readExchange(intent, TELEMETRY, reading, body);
      switch (read.kind) {
        case "exchange":
          return ofExchange(read.exchange, seen);
        case "refuse":
          read.unread?.cancel();
          return read.problem.code === "key-missing" ? keyless("key-missing") : refused(read.problem.code);
        case "pass":
          read.body?.free();
          return keyless(null);
        case "answered":
          return { problem: null, sighting: null, key: null };
      }
    }
  }
}

/** The copy of a body as one that has been read; `null`: it was not copied. */
function heldCopy(sent: BodyCopy) {
  return sent.kind === "whole"
    ? ({ kind: "whole", body: { bytes: sent.bytes, free: () => undefined } } as const)
    : null;
}

/** The request as it came, with what was copied of its body: for who reads that from it. To make one costs as much as two digests (measured). */
function copiedRequest({ request: { method, headers }, url, sent }: SeenRequest): Request {
  const body = sent.kind === "whole" && sent.bytes.byteLength > 0 ? sent.bytes : null;
  const hasBody = body !== null && method !== "GET" && method !== "HEAD";
  return new Request(url.href, { method, headers, ...(hasBody ? { body } : null) });
}

function refused(code: ClientProblemCode): ReadSighting {
  return { problem: classOf(code), sighting: null, key: null };
}

const OWN_CLASSES: readonly SightingClass[] = ["key-missing", "key-invalid", "body-too-large", "credential-invalid"];

function classOf(code: ClientProblemCode): SightingClass {
  return OWN_CLASSES.find((own) => own === code) ?? "other-problem";
}

async function ofExchange(exchange: ExchangeRequest, seen: SeenRequest): Promise<ReadSighting> {
  const { record, request } = exchange.head;
  const isCompared = seen.sent.kind === "whole" && exchange.rest === null;
  exchange.rest?.cancel();
  exchange.free();
  const isWanted = shareOf("sample", record.key) < (seen.route.trial?.sample ?? 1);
  if (!isWanted) return { problem: null, sighting: null, key: record.key };
  const of = { id: record.id, isKeyless: false, fingerprint: isCompared ? request.fingerprint : null };
  return { problem: null, sighting: await sightingOf(of, seen), key: record.key };
}

/** Never a record's: its name is made of the content. */
const NO_KEY = { key: "content", raw: "", header: "" } as const;

/** A request without a key is compared with equal ones of its caller. Strangers, whom nothing tells apart, are not one caller. */
async function readKeyless(
  intent: ExchangeIntent,
  seen: SeenRequest,
  reading: ReadPorts,
  code: ClientProblemCode | null,
): Promise<ReadSighting> {
  const { route } = seen;
  const { keylessMs = 0, sample = 1 } = route.trial ?? {};
  const alone = { problem: code === null ? null : classOf(code), sighting: null, key: null };
  const body = heldCopy(seen.sent);
  if (keylessMs === 0 || body === null) return alone;
  const hasIdentities = route.identities.length > 0;
  const proofs = hasIdentities ? await proofsWithBody(await reading.proveCaller(intent), body) : NO_PROOFS;
  const json = hasScopeInBody(route) ? await jsonParts(intent, body) : UNREAD;
  const scopes = readScopes(intent, proofs, json);
  if ("problem" in scopes || !isSomebody(scopes.scope)) return alone;
  const read = await readExchange(intent, TELEMETRY, reading, body);
  if (read.kind === "refuse") read.unread?.cancel();
  if (read.kind !== "exchange") return alone;
  const { fingerprint } = read.exchange.head.request;
  const isCompared = read.exchange.rest === null;
  read.exchange.rest?.cancel();
  read.exchange.free();
  if (!isCompared || shareOf("sample", fingerprint) >= sample) return alone;
  const [id] = await namerOf(`(content:${fingerprint})`, scopes)(route.layouts.own);
  return { ...alone, sighting: await sightingOf({ id, isKeyless: true, fingerprint }, seen) };
}

async function sightingOf(
  of: Pick<RequestSighting, "id" | "isKeyless" | "fingerprint">,
  seen: SeenRequest,
): Promise<RequestSighting> {
  const { route, answer, beganAt, endedAt } = seen;
  const bytes = answer?.body.kind === "whole" ? answer.body.bytes : null;
  const pointer = route.trial?.effect ?? null;
  const { id } = of;
  const found =
    bytes === null || pointer === null
      ? null
      : await effectIn(bytes, answer?.headers.get("content-encoding") ?? null, pointer);
  const effect = found === null ? null : await shortDigest([id, found]);
  return {
    ...of,
    route: route.path,
    beganAt,
    endedAt,
    end: endOf(seen),
    isSuccess: answer !== null && isSuccessStatus(answer.status) && isWhole(seen),
    // Each digest costs as much as a tenth of the look (measured).
    body: effect ?? (bytes === null ? null : await shortDigest([id, bytes])),
    effect,
    marks: marksOf(of, seen),
  };
}

/** With the name of its record, so that nobody sees which keys have equal bodies. */
async function shortDigest(parts: readonly (string | Uint8Array)[]): Promise<string> {
  return (await digest(parts)).slice(0, 16);
}

/** One that was not copied counts as whole: nobody looked at its end. */
function isWhole({ answer, isLeft }: SeenRequest): boolean {
  return !isLeft && answer !== null && answer.body.kind !== "broken";
}

/** As the route would have judged it, which waits no longer than its `timeout`. */
function endOf(seen: SeenRequest): SightedEnd {
  const { route, answer, isLeft } = seen;
  if (isLeft) return "left";
  const end: AttemptEnd =
    answer === null || !isWhole(seen)
      ? { kind: "dropped" }
      : isLate(seen)
        ? { kind: "timed-out" }
        : { kind: "answered", status: answer.status };
  return judgeAttempt(end, route.rules.lists);
}

function isLate({ route, answer, beganAt }: SeenRequest): boolean {
  return answer !== null && answer.at - beganAt > route.rules.timeoutMs;
}

function marksOf({ fingerprint }: Pick<RequestSighting, "fingerprint">, seen: SeenRequest): readonly SightingMark[] {
  const { route, answer } = seen;
  const size = answer?.body.kind === "whole" ? answer.body.bytes.byteLength : declaredIn(answer?.headers ?? null);
  return [
    ...(isLate(seen) ? (["over-timeout"] as const) : []),
    ...(size > route.rules.maxResponseBodyBytes ? (["response-too-large"] as const) : []),
    ...(fingerprint === null ? (["not-compared"] as const) : []),
  ];
}

function declaredIn(headers: Headers | null): number {
  return headers === null ? 0 : (declaredLength(headers) ?? 0);
}
