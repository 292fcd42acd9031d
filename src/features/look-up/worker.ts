// The look-up of a key in the Worker: a client asks what became of it, or gives it up, with its own credential. The question names the record as a
// retry would, so nobody learns here what a retry would not tell. No attempt is begun, and the origin is not asked.

import type { JsonCall } from "../../kernel/call.ts";
import type { Config } from "../../kernel/config/resolved.ts";
import type { Layout } from "../../kernel/config/layout.ts";
import type { GivenOrElsewhere, PlacedRecord, PreviousLayouts } from "../../kernel/elsewhere.ts";
import type { Problem } from "../../kernel/record/problem.ts";
import type { CallerRequest, Endpoint } from "../../kernel/request-feature.ts";
import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { askObject, shardStub, withRetries } from "../../kernel/object/call-shard.ts";
import { NEW_KEYS_RETRY_MS } from "../../kernel/object/decide.ts";
import { shardAddressOf } from "../../kernel/object/shard-address.ts";
import { keyHashOf, type RecordId } from "../../kernel/record/units.ts";
import {
  askedScopes,
  namerOf,
  readScopes,
  type ReadScopes,
  recordNames,
  type ScopedRequest,
} from "../../kernel/request/read-scopes.ts";
import { ECHO_HEADER, HeaderSnapshot, STATUS_HEADER } from "../../kernel/request/headers.ts";
import { writeKey } from "../../kernel/request/key-text.ts";
import {
  acceptsRequests,
  askedKeyProblem,
  type AskedMonitor,
  MONITOR_METHODS,
  MONITOR_PREFIX,
  monitorIn,
} from "../../kernel/request/monitor-url.ts";
import { problemResponse } from "../../kernel/request/problem-response.ts";
import { isWholeScope } from "../../kernel/request/record-name.ts";
import { hasScopeInBody } from "../../kernel/request/scope-in-body.ts";
import { countFor } from "../../kernel/request/scope.ts";
import type { RecordLabel } from "../../kernel/store/label.ts";
import type { KeyReport } from "./key-report.ts";
import { ABANDON_CALL, type KeyAbandonment, LOOK_UP_CALL } from "./look-up-question.ts";

const NOT_KNOWN: Problem = { code: "key-not-known" };

const NO_METHOD: Problem = {
  code: "request-invalid",
  reason: "This address tells what became of a request (GET, HEAD), or gives its key up (DELETE).",
  allow: MONITOR_METHODS,
};

const NOT_GIVEN_UP: Problem = {
  code: "request-invalid",
  reason: "A key that is made from content is not given up: a request with a key of your own is another operation.",
  allow: ["GET", "HEAD"],
};

export function lookUpWorker(kernel: WorkerKernel): WorkerFeature {
  return { name: "look-up", ...(hasLookUp(kernel.config) ? { endpoint: lookUpEndpoint(kernel) } : null) };
}

function hasLookUp({ routes }: Pick<Config, "routes">): boolean {
  return routes.some(({ lookUp }) => lookUp);
}

/** With the beginning of a fingerprint the address is that of an accepted request's monitor, which is another feature's. */
function lookUpEndpoint(kernel: WorkerKernel): Endpoint {
  const hasMonitors = acceptsRequests(kernel.config);
  return {
    under: MONITOR_PREFIX,
    find: (request, url, findRoute) => {
      const asked = monitorIn(url);
      if (asked === null || (hasMonitors && asked.fingerprintPrefix !== "")) return null;
      if (!MONITOR_METHODS.includes(request.method)) return { kind: "refuse", problem: NO_METHOD };
      const route = findRoute(asked.method, asked.path);
      if (route === null || route === "too-long" || !route.lookUp) return { kind: "refuse", problem: NOT_KNOWN };
      const caller = { request, headers: new HeaderSnapshot(request.headers), url, route, path: asked.path };
      return {
        kind: "own",
        isAboutRecord: true,
        route,
        answer: () => answerKeyQuestion(request, caller, asked, kernel),
      };
    },
  };
}

type KeyQuestion = ScopedRequest & CallerRequest;

/** A caller's key, as its objects know it. */
interface CallersKey {
  readonly key: string;
  /** As answers repeat it. */
  readonly echo: string;
  readonly scopes: ReadScopes;
  readonly caller: KeyQuestion;
  /** The record's own name, which decides which object has it. */
  readonly id: RecordId;
  readonly placedIn: (layout: Layout, previous: PreviousLayouts | undefined) => Promise<PlacedRecord>;
}

async function answerKeyQuestion(
  { method }: Request,
  caller: KeyQuestion,
  asked: AskedMonitor,
  kernel: WorkerKernel,
): Promise<Response> {
  const { route } = caller;
  const { key } = asked;
  const reason = askedKeyProblem(asked, route.keyFormat);
  if (reason !== null) return problemResponse({ code: "key-invalid", reason }, null);
  const echo = writeKey(key);
  const scopes = readScopes(caller, await kernel.proveCaller(caller));
  if ("problem" in scopes) return problemResponse(scopes.problem, echo);
  // Whoever shares a scope with strangers would learn what became of their keys, or end them. And nobody can say of a key without its request's body what
  // became of it where the body says, or said, whose it is: a record in an older scope would be overlooked, and a new key called safe.
  const named = isWholeScope(scopes.scope) && !hasScopeInBody(route) ? askedScopes(scopes, asked) : null;
  if (named === null) return problemResponse(NOT_KNOWN, echo);
  // What it gives up would be an operation, not a key: the next equal request may be meant as another.
  if (method === "DELETE" && asked.isFromContent) return problemResponse(NOT_GIVEN_UP, echo);
  const namesIn = namerOf(key, named);
  const placedIn: CallersKey["placedIn"] = async (layout, previous) => ({
    record: { ...recordNames(await namesIn(layout)), route: route.path },
    ...(previous === undefined ? null : { previous }),
  });
  const [id] = await namesIn(route.layouts.own);
  const own = { key, echo, scopes, caller, id, placedIn };
  return method === "DELETE" ? abandon(own, kernel) : reportOnKey(own, method === "HEAD", kernel);
}

async function reportOnKey(own: CallersKey, isHead: boolean, kernel: WorkerKernel): Promise<Response> {
  const answer = await askKeyObject(own, kernel, LOOK_UP_CALL, (placed) => placed);
  if (answer === null) return problemResponse({ code: "store-unavailable" }, own.echo);
  return answer.given === null ? problemResponse(NOT_KNOWN, own.echo) : reportResponse(answer.given, own.echo, isHead);
}

async function abandon(own: CallersKey, kernel: WorkerKernel): Promise<Response> {
  const { echo, scopes, caller } = own;
  const { newKeys, rules } = caller.route;
  const label = await labelOf(own, kernel);
  const count = newKeys === null ? null : await countFor(newKeys, scopes.scope, caller.headers);
  const question = (placed: PlacedRecord): KeyAbandonment => ({
    placed,
    label,
    policy: rules.policy,
    ...(count === null ? null : { newKeys: count }),
  });
  const answer = await askKeyObject(own, kernel, ABANDON_CALL, question);
  if (answer === null) return problemResponse({ code: "store-unavailable" }, echo);
  switch (answer.given.kind) {
    case "abandoned":
      return new Response(null, { status: 204, headers: { [ECHO_HEADER]: echo, [STATUS_HEADER]: "abandoned" } });
    case "too-many-keys":
      return problemResponse({ code: "too-many-keys", retryAfterMs: NEW_KEYS_RETRY_MS }, echo);
    case "refused": {
      const { state, retryAfterMs = 1000 } = answer.given.report;
      const isInFlight = state === "in-flight";
      return problemResponse(
        isInFlight
          ? { code: "cancel-refused", why: "in-flight", retryAfterMs }
          : { code: "cancel-refused", why: "ended" },
        echo,
      );
    }
  }
}

/** What operators see of a key that nothing is known of. A record of an encrypted route stores no key. */
async function labelOf({ key, id, scopes, caller }: CallersKey, { encryptions }: WorkerKernel): Promise<RecordLabel> {
  const { path, encryptResponses } = caller.route;
  if (encryptResponses !== true) return { key, route: path, lane: scopes.lane };
  const [scopeDigest] = await encryptions.scopeDigests(scopes.scope);
  if (scopeDigest === undefined) throw new TypeError("an encrypted route without a secret");
  return { key: keyHashOf(id), route: path, scopeDigest, lane: scopes.lane };
}

/** `null`: an object cannot be reached, or all say that the key begins elsewhere, so nobody knows. */
async function askKeyObject<In, Out>(
  { id, caller, placedIn }: CallersKey,
  { namespace, findObject }: WorkerKernel,
  call: JsonCall<In, GivenOrElsewhere<Out>>,
  question: (placed: PlacedRecord) => In,
): Promise<{ readonly given: Out } | null> {
  try {
    return await findObject(id, caller.route.layouts, async (layout, previous) => {
      const asked = question(await placedIn(layout, previous));
      const address = shardAddressOf(id, layout);
      const answer = await withRetries(() => askObject(shardStub(namespace, address), call, asked), id);
      // `null` is an answer, too.
      return answer.kind === "given" ? { kind: "given", given: { given: answer.given } } : answer;
    });
  } catch (error) {
    console.error({ message: "shard unavailable", keyHash: keyHashOf(id), reason: String(error) });
    return null;
  }
}

function reportResponse({ retryAfterMs, ...report }: KeyReport, echo: string, isHead: boolean): Response {
  const headers = new Headers({
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    [ECHO_HEADER]: echo,
  });
  if (retryAfterMs !== undefined) headers.set("Retry-After", String(Math.ceil(retryAfterMs / 1000)));
  return new Response(isHead ? null : JSON.stringify(report), { headers });
}
