// Diagnoses the gateway from the answers to two identical requests with the same key, with reasons for people and a code for
// scripts. Pure.

import { BUILT_IN } from "../kernel/config/settings.ts";
import { judgeAttempt } from "../kernel/record/verdict.ts";
import type { HttpAnswer } from "./send.ts";
import { type GatewayMarks, type PublishedPolicy, readGatewayMarks } from "./gateway-marks.ts";

export type DiagnosisCode =
  /** The second request did not reach the origin. */
  | "protected"
  /** The second request was answered from a record, but not with the same status and bytes. */
  | "replay-differs"
  /** There is a gateway, but it does not protect this request. */
  | "route-not-protected"
  | "no-gateway"
  /** The gateway forwards without protection, because its store fails. */
  | "store-fails-open"
  /** The origin said that it did not act, so asking it again was right: this proves nothing. */
  | "not-kept"
  /** The gateway refused the request itself. */
  | "problem"
  /** A different request with the same key was accepted. */
  | "mismatch-accepted";

export interface Diagnosis {
  readonly code: DiagnosisCode;
  /** Whether the request is proved to be protected. */
  readonly works: boolean;
  /** What happened, in sentences, the main one first. */
  readonly happened: readonly string[];
  readonly advice: string | null;
}

export interface TrialEvidence {
  readonly method: string;
  readonly path: string;
  readonly first: HttpAnswer;
  /** Null when the gateway refused the first. */
  readonly second: HttpAnswer | null;
  /** The answer to the same key with another body; null when it was not sent. */
  readonly changed: HttpAnswer | null;
  readonly policy: PublishedPolicy | null;
}

export function diagnoseGateway(evidence: TrialEvidence): Diagnosis {
  const { first, second, changed } = evidence;
  const firstMarks = readGatewayMarks(first);
  if (firstMarks.problem !== null) return refusedByGateway(firstMarks.problem.code, firstMarks.problem.detail);
  if (second === null) throw new TypeError("a second answer is missing");
  const secondMarks = readGatewayMarks(second);
  if (firstMarks.unprotected || secondMarks.unprotected) return failsOpen();
  if (secondMarks.replayed) {
    if (first.status !== second.status || !first.body.equals(second.body)) return replayDiffers(first, second);
    return changed === null ? replays(evidence, firstMarks) : diagnoseChanged(evidence, changed);
  }
  if (secondMarks.problem !== null) return heldBack(first, secondMarks.problem.code, secondMarks.problem.detail);
  if (!firstMarks.echoed && !secondMarks.echoed) return noGatewayMarks(evidence);
  return askedAgain(evidence);
}

function replays({ policy }: TrialEvidence, first: GatewayMarks): Diagnosis {
  const gist = first.replayed
    ? "This key had been used before: both requests got the first answer of that time, byte for byte, and the origin was not called."
    : "The second request got the first one's answer, byte for byte, and the origin was called once.";
  const whose =
    "No policy is published at /.well-known/idempotency, so the replay may be the work of something other than Onceway.";
  return { code: "protected", works: true, happened: policy === null ? [gist, whose] : [gist], advice: null };
}

function diagnoseChanged(evidence: TrialEvidence, changed: HttpAnswer): Diagnosis {
  const diagnosis = replays(evidence, readGatewayMarks(evidence.first));
  const { problem, replayed } = readGatewayMarks(changed);
  if (problem?.code === "key-reused") {
    const sentence = `The same key with another body was refused with ${changed.status} key-reused, as it must be.`;
    return { ...diagnosis, happened: [...diagnosis.happened, sentence] };
  }
  if (replayed) {
    const sentence =
      'The same key with another body got the first answer too: right only with fingerprint.body = "none".';
    return { ...diagnosis, happened: [...diagnosis.happened, sentence] };
  }
  return {
    code: "mismatch-accepted",
    works: false,
    happened: [
      ...diagnosis.happened,
      `The same key with another body was answered with ${changed.status}, and not refused.`,
    ],
    advice: "Look at the route's fingerprint setting, and whether the first answer is kept long enough (retention).",
  };
}

function replayDiffers(first: HttpAnswer, second: HttpAnswer): Diagnosis {
  const what =
    first.status === second.status
      ? `the bodies differ (${first.body.length} and ${second.body.length} bytes)`
      : `the statuses differ (${first.status} and ${second.status})`;
  return {
    code: "replay-differs",
    works: false,
    happened: [`The second response is marked as a replay, but ${what}.`],
    advice:
      "Something between here and the gateway changes responses: look for a proxy that compresses or rewrites them.",
  };
}

/** The second request met the record of the first and was not let through. */
function heldBack(first: HttpAnswer, code: string, detail: string): Diagnosis {
  return {
    code: "protected",
    works: true,
    happened: [
      `The second request did not reach the origin, but there is no answer to replay: ${code}. ${detail}`,
      `The first one's answer was ${first.status}.`,
    ],
    advice: ADVICE[code] ?? null,
  };
}

function failsOpen(): Diagnosis {
  return {
    code: "store-fails-open",
    works: false,
    happened: [
      "The gateway could not reach the record and forwarded without protection (Idempotency-Status: unprotected): the origin may have acted twice.",
    ],
    advice: 'Look at the gateway\'s log; on_store_failure = "closed" refuses instead.',
  };
}

function refusedByGateway(code: string, detail: string): Diagnosis {
  return {
    code: "problem",
    works: false,
    happened: [`The gateway answered with a problem of its own, ${code}: ${detail}`],
    advice: ADVICE[code] ?? null,
  };
}

/** Neither answer shows a gateway. */
function noGatewayMarks({ method, path, policy, first }: TrialEvidence): Diagnosis {
  const twice = `The request was sent twice and nothing held the second one back: if the origin acts on it, it acted twice (it answered ${first.status}).`;
  if (policy === null) {
    return {
      code: "no-gateway",
      works: false,
      happened: [`No Onceway here: no response repeats the key. ${twice}`],
      advice: "Check the URL, and that the gateway is deployed in front of it (routes in wrangler.toml).",
    };
  }
  const routes = policy.routes.map((route) => `${route.methods.join(",")} ${route.path}`).join("; ");
  return {
    code: "route-not-protected",
    works: false,
    happened: [
      `There is a gateway, but none of its routes protects ${method} ${path}. ${twice}`,
      `It protects: ${routes}.`,
    ],
    advice: `Add [[vars.ROUTES]] with path = ${JSON.stringify(path)} and methods = ["${method}"], and deploy.`,
  };
}

/** The answers repeat the key, but the origin was asked again. */
function askedAgain({ first, policy }: TrialEvidence): Diagnosis {
  const lists = policy?.routes.map(({ notReplayed }) => notReplayed) ?? [BUILT_IN];
  const isNoResult = lists.some((own) => judgeAttempt({ kind: "answered", status: first.status }, own) !== "result");
  if (isNoResult) {
    return {
      code: "not-kept",
      works: false,
      happened: [
        `The origin answered ${first.status}, which says that it did not act, so the key stayed free and the origin was asked again: this proves nothing yet.`,
      ],
      advice: "Try again when the origin answers with a result.",
    };
  }
  return {
    code: "no-gateway",
    works: false,
    happened: [
      `The key is repeated, but the second answer (not marked as a replay) comes from the origin again: it acted twice.`,
    ],
    advice: "If the origin repeats the key itself, no Onceway is here. Check the URL and the deployment.",
  };
}

/** What the operator can do about a problem; its detail tells what the client does. */
const ADVICE: Readonly<Record<string, string>> = {
  "key-missing": "The route reads the key from another header: name it with --key-header.",
  "key-invalid": "Choose a key of the route's format with --key.",
  "key-reused": "Leave --key out: every try then has a fresh key.",
  "request-invalid": "Check the URL and the headers.",
  "too-many-keys": "Wait, or raise the limit of the route's rate limit binding (new_keys).",
  "in-flight": "Wait until the first attempt has ended, or look at it: npx onceway records show --key KEY.",
  "outcome-unknown": "Look at the record: npx onceway records show --key KEY. Then release or resolve it.",
  "response-not-kept": "Raise max_response_body for the route, or bind an R2 bucket as BODIES.",
  "body-too-large": "Send less, or raise max_request_body for the route.",
  "origin-unreachable":
    "No answer from the API. Is the name in `origin` right, and does it listen? npx onceway check looks.",
  "origin-dropped":
    "No answer from the API. Is the name in `origin` right, and does it listen? npx onceway check looks. If both are right, find out why it drops connections.",
  "origin-timeout": "The gateway works. Find out why the API is slow, or raise `timeout` and `lock`.",
  "store-unavailable": "Try again. If it persists, check the gateway's log.",
  "credential-invalid": "Send the credential of a caller whom the route's identity knows, with --header.",
  "identity-unavailable":
    "Check that the issuer, or the origin's answer about callers, can be reached: the gateway's log says more.",
  "configuration-invalid": "Run npx onceway check, fix what it reports, and deploy.",
};
