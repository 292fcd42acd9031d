// The look-up of a key in the Worker: a client asks what became of it, with its own credential. The question names the record as a retry would, so
// nobody learns here what a retry would not tell. Nothing is begun, and the origin is not asked.

import type { Config, Route } from "../../kernel/config/resolved.ts";
import type { Layout } from "../../kernel/config/layout.ts";
import type { PlacedRecord, PreviousLayouts } from "../../kernel/elsewhere.ts";
import type { Problem } from "../../kernel/record/problem.ts";
import type { CallerRequest, Endpoint } from "../../kernel/request-feature.ts";
import type { WorkerFeature, WorkerKernel } from "../../kernel/worker-feature.ts";
import { askObject, shardStub, withRetries } from "../../kernel/object/call-shard.ts";
import { shardAddressOf } from "../../kernel/object/shard-address.ts";
import { namerOf, readScopes, recordNames } from "../../kernel/request/exchange-request.ts";
import { ECHO_HEADER, HeaderSnapshot } from "../../kernel/request/headers.ts";
import { formatProblem } from "../../kernel/request/key.ts";
import { writeKey } from "../../kernel/request/key-text.ts";
import { acceptsRequests, type AskedMonitor, monitorIn } from "../../kernel/request/monitor-url.ts";
import { keyHashOf, recordId } from "../../kernel/record/units.ts";
import { problemResponse } from "../../kernel/request/problem-response.ts";
import { isWholeScope } from "../../kernel/request/record-name.ts";
import { LOOK_UP_CALL } from "./look-up-question.ts";
import type { KeyReport } from "./key-report.ts";

const METHODS = ["GET", "HEAD"];

const NOT_KNOWN: Problem = { code: "key-not-known" };

const NO_METHOD: Problem = {
  code: "request-invalid",
  reason: "This address tells what became of a request (GET, HEAD).",
  allow: METHODS,
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
    find: (request, url, findRoute) => {
      const asked = monitorIn(url);
      if (asked === null || (hasMonitors && asked.fingerprintPrefix !== "")) return null;
      if (!METHODS.includes(request.method)) return { kind: "refuse", problem: NO_METHOD };
      const route = findRoute(asked.method, asked.path);
      if (route === null || route === "too-long" || !route.lookUp) return { kind: "refuse", problem: NOT_KNOWN };
      const caller = { headers: new HeaderSnapshot(request.headers), url, route };
      return { kind: "own", isAboutRecord: true, route, answer: () => answerLookUp(request, caller, asked, kernel) };
    },
  };
}

async function answerLookUp(
  { method }: Request,
  caller: CallerRequest,
  { key }: AskedMonitor,
  kernel: WorkerKernel,
): Promise<Response> {
  const { route } = caller;
  const reason = formatProblem(key, 'The parameter "key"', route.keyFormat);
  if (reason !== null) return problemResponse({ code: "key-invalid", reason }, null);
  const echo = writeKey(key);
  const scopes = readScopes(caller, await kernel.proveCaller(caller));
  if ("problem" in scopes) return problemResponse(scopes.problem, echo);
  // Whoever shares a scope with strangers would learn what became of their keys.
  if (!isWholeScope(scopes.scope)) return problemResponse(NOT_KNOWN, echo);
  const namesIn = namerOf(key, scopes);
  const placedIn = async (layout: Layout, previous: PreviousLayouts | undefined): Promise<PlacedRecord> => ({
    record: { ...recordNames(await namesIn(layout)), route: route.path },
    ...(previous === undefined ? null : { previous }),
  });
  const found = await askKeyObject(kernel, route, (await namesIn(route.layouts.own))[0], placedIn);
  if (found === "unavailable") return problemResponse({ code: "store-unavailable" }, echo);
  return found === null ? problemResponse(NOT_KNOWN, echo) : foundResponse(found, echo, method === "HEAD");
}

async function askKeyObject(
  { namespace, findObject }: WorkerKernel,
  { layouts }: Route,
  placing: string,
  placedIn: (layout: Layout, previous: PreviousLayouts | undefined) => Promise<PlacedRecord>,
): Promise<KeyReport | "unavailable" | null> {
  try {
    const given = await findObject(placing, layouts, async (layout, previous) => {
      const placed = await placedIn(layout, previous);
      const answer = await withRetries(
        () => askObject(shardStub(namespace, shardAddressOf(placing, layout)), LOOK_UP_CALL, placed),
        placed.record.id,
      );
      return answer.kind === "given" ? { kind: "given", given: { found: answer.given } } : answer;
    });
    return given === null ? "unavailable" : given.found;
  } catch (error) {
    console.error({ message: "shard unavailable", keyHash: keyHashOf(recordId(placing)), reason: String(error) });
    return "unavailable";
  }
}

function foundResponse({ retryAfterMs, ...report }: KeyReport, echo: string, isHead: boolean): Response {
  const headers = new Headers({
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    [ECHO_HEADER]: echo,
  });
  if (retryAfterMs !== undefined) headers.set("Retry-After", String(Math.ceil(retryAfterMs / 1000)));
  return new Response(isHead ? null : JSON.stringify(report), { headers });
}
