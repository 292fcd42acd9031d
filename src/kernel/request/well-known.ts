// The published policy, made from the configuration: the expiration policy and the rest of the idempotency specification
// (draft, sections 2.4 and 2.5.2). It tells clients what they can rely on, and reveals nothing about the origin.

import { writtenSources } from "../config/key-source.ts";
import { type Config, type FingerprintRule, protectsKeys, type Route } from "../config/resolved.ts";
import type { MonitorProblem } from "../record/monitor-problem.ts";
import { type ClientProblem, describeProblem } from "../record/problem.ts";
import {
  ECHO_HEADER,
  EXPIRES_HEADER,
  KEY_SOURCE_HEADER,
  REPLAYED_HEADER,
  STATUS_HEADER,
  VERIFIED_HEADER,
} from "./headers.ts";
import type { Schedule } from "../record/record.ts";
import { MONITOR_PREFIX } from "./monitor-url.ts";
import { problemType } from "./problem-response.ts";
import type { AsyncRule } from "../config/words.ts";
import { scopeNames } from "../config/scope-part.ts";

/** What the gateway promises where the draft is silent: a name, compared as text (conformance/profile/README.md, P24). */
const PROFILE = "onceway-idempotency-1";

export function wellKnownResponse(config: Config): Response {
  // Problems link to it. It depends on nobody, so every page may read it.
  const isForPages = config.routes.some(({ cors }) => cors !== null);
  return Response.json(
    {
      specification: "https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/07/",
      profile: PROFILE,
      responseHeaders: {
        echo: ECHO_HEADER,
        expires: EXPIRES_HEADER,
        replayed: REPLAYED_HEADER,
        status: STATUS_HEADER,
        verified: VERIFIED_HEADER,
        keySource: KEY_SOURCE_HEADER,
      },
      // A client can rely on no route that protects nothing.
      routes: config.routes.filter(protectsKeys).map(publishedRoute),
      problems: publishedProblems(),
    },
    { headers: { "Cache-Control": "max-age=300", ...(isForPages ? { "Access-Control-Allow-Origin": "*" } : {}) } },
  );
}

function publishedRoute(route: Route): object {
  const { min, max, pattern } = route.keyFormat;
  const { policy, lists, duplicate, waitMs, keyReusedStatus } = route.rules;
  return {
    path: route.path,
    methods: route.methods,
    key: {
      required: route.key === "required",
      from: writtenSources(route),
      syntax: "in a header: a structured-field string, or the same value bare; visible ASCII",
      minLength: min,
      maxLength: max,
      ...(pattern === null ? {} : { pattern }),
    },
    scope: scopeNames(route.scope),
    fingerprint: publishedFingerprint(route.fingerprint),
    duplicate: duplicate === "reject" ? { while: "reject" } : { while: duplicate, upToSeconds: waitMs / 1000 },
    unknownOutcome: policy.unknown,
    onStoreFailure: route.onStoreFailure,
    ...(policy.schedule === undefined ? {} : { async: publishedAcceptance(route.async, policy.schedule, waitMs) }),
    retentionSeconds: policy.retentionMs / 1000,
    ...(policy.rememberMs === undefined ? {} : { rememberSeconds: policy.rememberMs / 1000 }),
    notReplayed: { refused: lists.refused, ambiguous: lists.ambiguous },
    mismatchStatus: keyReusedStatus,
    ...(route.problemShape === null ? null : { problems: route.problemShape.name }),
    maxRequestBodyBytes: route.maxRequestBodyBytes,
    // While the route's settings are on trial, the others pass unprotected.
    ...(route.trial === null ? {} : { protectedShareOfKeys: route.trial.protectedShare }),
  };
}

/** Which requests are accepted before their result is there, and when the gateway gives one up. */
function publishedAcceptance(when: AsyncRule, { attempts, giveUpAfterMs }: Schedule, waitMs: number): object {
  return {
    when,
    preference: "respond-async",
    waitUpToSeconds: waitMs / 1000,
    monitor: MONITOR_PREFIX,
    giveUp: { attempts, afterSeconds: giveUpAfterMs / 1000 },
  };
}

/** What a client may change between two tries, and what it may not. */
function publishedFingerprint({ body, selection, query, queryExcept, headers }: FingerprintRule): object {
  return {
    of: query === "none" ? ["method", "path"] : ["method", "path", "query"],
    ...(query === "sorted" ? { query } : null),
    ...(queryExcept.length === 0 ? null : { queryExcept }),
    body,
    ...(selection === null ? null : { [selection.kind]: selection.pointers }),
    headers,
  };
}

type Published = ClientProblem | MonitorProblem;

/** One example of each problem that a client can get. Its evidence is a placeholder, because details are not published. */
const EXAMPLES: { readonly [Code in Published["code"]]: Extract<Published, { code: Code }> } = {
  "key-missing": { code: "key-missing", ways: "" },
  "key-invalid": { code: "key-invalid", reason: "" },
  "request-invalid": { code: "request-invalid", reason: "" },
  "key-reused": { code: "key-reused", status: 422 },
  "too-many-keys": { code: "too-many-keys", retryAfterMs: 0 },
  "in-flight": { code: "in-flight", retryAfterMs: 0 },
  "outcome-unknown": { code: "outcome-unknown", retryAfterMs: null },
  "response-not-kept": { code: "response-not-kept", originalStatus: 200 },
  "key-expired": { code: "key-expired", originalStatus: null },
  "key-abandoned": { code: "key-abandoned" },
  "repeated-content": { code: "repeated-content" },
  "body-too-large": { code: "body-too-large", limitBytes: 0 },
  "origin-unreachable": { code: "origin-unreachable", mayHaveActed: false },
  "origin-dropped": { code: "origin-dropped", unknown: "retry", retryAfterMs: 0 },
  "origin-timeout": { code: "origin-timeout", unknown: "retry", retryAfterMs: 0 },
  "store-unavailable": { code: "store-unavailable" },
  "credential-invalid": { code: "credential-invalid", why: "invalid" },
  "identity-unavailable": { code: "identity-unavailable", retryAfterMs: 0 },
  "configuration-invalid": { code: "configuration-invalid", problemCount: 0 },
  "monitor-not-found": { code: "monitor-not-found" },
  "key-not-known": { code: "key-not-known" },
  "attempts-exhausted": { code: "attempts-exhausted", lastStatus: null, mayHaveActed: false },
  "cancel-refused": { code: "cancel-refused", why: "in-flight", retryAfterMs: 0 },
};

function publishedProblems(): readonly object[] {
  return Object.values(EXAMPLES).map((problem) => {
    const { status, title, retryable } = describeProblem(problem);
    const type = problemType(problem.code);
    return {
      type,
      code: problem.code,
      title,
      status,
      retryable: "unknown" in problem || problem.code === "outcome-unknown" ? "by unknownOutcome" : retryable,
    };
  });
}
