// The origin of a run, in its own process: `startChaosOrigin` forks it and tells it when to refuse connections. For each
// arrival it follows the client's plan, and it reports the arrival once it is over. It exits with its parent.

import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { listen } from "../support/origin-server.ts";
import { createArrivals, header, type OpenAnswer, type OpenArrival } from "../guarantees/recorders/arrivals.ts";
import { watchLag } from "../guarantees/recorders/lag.ts";
import { bodyOf, digestHead, MARKS_HEADER, sha256 } from "../guarantees/recorders/marks.ts";
import { createQuestions } from "../guarantees/recorders/verifications.ts";
import { describe, Plans } from "./origin-arrivals.ts";
import type { FromOrigin, ToOrigin } from "./origin-client.ts";
import { States } from "./origin-states.ts";
import { ObservedOrigin } from "./origin-observed.ts";
import { CALLER_PATH, CALLS_PATH, OBSERVED_KEYS, SAID, stateOf, VERDICTS_PATH } from "./routes.ts";
import { CALM, LIST_PATH, RESOURCE_PATH, VERIFICATION_PATH } from "./steps.ts";
import type { Step } from "./steps.ts";

/** What the origin makes itself of its result, for those who are told of it. */
const EVENT_HEADER = "Onceway-Event";

/** A request's amount is in these. */
const START_BYTES = 300;

/** The origin ends a stalled arrival itself, long after the gateway should have given up. */
const STALL_MS = 6_000;

const send = (message: FromOrigin): void => void process.send?.(message);
const arrivals = createArrivals((event) => send({ type: "event", event }));
const plans = new Plans();
const states = new States((event) => send({ type: "event", event }));
const verifications = createQuestions(arrivals, (event) => send({ type: "event", event }));
const observed = new ObservedOrigin(arrivals, (event) => send({ type: "event", event }));
let calm = false;

// No time limits of its own: a connection that the origin closed by itself would look like a planned fault.
const limits = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 };
const server = createServer(limits, (request, response) => {
  serveAny(request, response).catch((error: unknown) => {
    process.stderr.write(`chaos origin: ${String(error)}\n`);
    request.socket.destroy();
  });
});

function serveAny(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = "" } = request;
  const isAboutState = url.startsWith(RESOURCE_PATH) || url.startsWith(`${LIST_PATH}?`);
  if (isAboutState || url.startsWith(VERIFICATION_PATH)) {
    const planned = plans.nextVerification(request);
    const asked = { ...planned, mode: calm ? "truth" : planned.mode } as const;
    return isAboutState
      ? verifications.answer(asked, request, response, (...of) => states.say(url, ...of))
      : verifications.answer(asked, request, response);
  }
  if (header(request, "x-key").startsWith(OBSERVED_KEYS)) return observed.serve(request, response);
  if (url === CALLER_PATH) return sayCaller(request, response);
  const planned = plans.nextStep(request);
  const step = stepAt(request.url, calm ? CALM : planned);
  return serve(arrivals.open(describe(request, step), response), step, request, response);
}

/** Where the body says what the answer means, no status of the gateway's own lists does. */
function stepAt(path: string | undefined, step: Step): Step {
  if (path !== VERDICTS_PATH || (step.name !== "refuse" && step.name !== "ambiguous")) return step;
  return { ...step, status: step.name === "refuse" ? SAID.refused : SAID.ambiguous };
}

function saidBy({ status }: Step): "result" | "refused" | "ambiguous" {
  if (status === SAID.refused) return "refused";
  return status === SAID.ambiguous ? "ambiguous" : "result";
}

/** All credentials of a caller begin alike. */
async function sayCaller({ headers }: IncomingMessage, response: ServerResponse): Promise<void> {
  const { authorization = "" } = headers;
  response.writeHead(200).end(JSON.stringify({ id: authorization.replace(/ as \d+$/, "") }));
}

async function serve(
  arrival: OpenArrival,
  step: Step,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reset = (): void => {
    arrival.breakOff();
    request.socket.resetAndDestroy();
  };
  if (step.name === "reset-unread") return reset();
  // A request that did not arrive whole is not carried out.
  const body = await readWhole(request);
  if (body === null) return;
  arrival.readWhole(body.sha256);
  if (step.name === "act-late") await pause(step.delayMs);
  if (step.name !== "refuse" && step.name !== "reset") {
    const effect = arrival.act();
    const kind = stateOf(request.url ?? "");
    if (kind !== undefined) states.acted(effect, kind, body.start);
    if (step.name === "act-undo") void pause(step.delayMs).then(() => states.undo(effect));
  }
  switch (step.name) {
    case "reset":
    case "act-reset":
    case "act-undo":
      return reset();
    case "stall":
      break;
    case "late":
    case "ok":
    case "refuse":
    case "ambiguous":
      await pause(step.delayMs);
      await answer(arrival, step, request, response, { extent: "whole", start: body.start });
      return;
    case "act-late":
      await answer(arrival, step, request, response, { extent: "whole", start: body.start });
      return;
    case "cut":
      await answer(arrival, step, request, response, { extent: "half", start: body.start });
      if (arrival.seq % 2 === 0) return reset();
      // The bytes before the cut reach the other side; a reset may overtake them.
      arrival.breakOff();
      request.socket.destroySoon();
      return;
    case "silent":
      await answer(arrival, step, request, response, { extent: "half", start: body.start });
  }
  await pause(STALL_MS);
  reset();
}

/** Writes an answer in pieces, whole or only its first half, and reports when each piece was written. `start`: how the request's body begins. */
async function answer(
  arrival: OpenAnswer,
  step: Step,
  { url }: IncomingMessage,
  response: ServerResponse,
  { extent, start }: { readonly extent: "whole" | "half"; readonly start: string },
): Promise<void> {
  const isJudged = url === VERDICTS_PATH;
  const isCall = url === CALLS_PATH;
  const marks = {
    ...arrival.marks(step.bytes),
    ...(isJudged ? { says: saidBy(step) } : {}),
    ...(isCall ? { callId: /"id":"(\w+)"/.exec(start)?.[1] ?? "" } : {}),
  };
  const body = bodyOf(marks);
  const headers: [string, string][] = [
    ["Content-Type", isJudged || isCall ? "application/json" : "application/octet-stream"],
    [MARKS_HEADER, JSON.stringify(marks)],
    ["X-Repeated", "one"],
    ["X-Repeated", "two"],
    ["Set-Cookie", `session=${marks.arrival}`],
    // Only the gateway may set these: it has to drop both.
    ["Idempotent-Replayed", "true"],
    ["Idempotency-Expires", "Thu, 01 Jan 1970 00:00:00 GMT"],
    // No client may get it, on any route.
    [EVENT_HEADER, JSON.stringify({ data: { arrival: marks.arrival } })],
  ];
  if (step.status === 503 || step.status === 429) headers.push(["Retry-After", "1"]);
  if (!step.chunked) headers.push(["Content-Length", String(body.length)]);
  const own = headers.filter(([name]) => name !== EVENT_HEADER && !name.startsWith("Idempot"));
  response.sendDate = false;
  response.writeHead(step.status, "Chaos", headers.flat());
  arrival.headWritten(step.status, digestHead(step.status, "Chaos", own), body.length);
  response.flushHeaders();

  const size = Math.ceil(body.length / Math.max(step.pieces, extent === "half" ? 2 : 1));
  const end = extent === "half" ? Math.floor(body.length / 2) : body.length;
  for (let at = 0; at < end && !response.destroyed; at += size) {
    if (at > 0) await pause(step.pauseMs);
    const piece = body.subarray(at, Math.min(at + size, end));
    if (at + size >= body.length) arrival.lastPiece(sha256(body));
    else arrival.pieceWritten();
    await write(response, piece);
  }
  if (extent === "whole") response.end();
}

/** Resolves when the bytes are handed to the system or the connection is gone. */
function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    response.write(bytes, () => resolve());
  });
}

/** The body's digest, and how it begins; null if the body does not arrive whole. */
function readWhole(request: IncomingMessage): Promise<{ readonly sha256: string; readonly start: string } | null> {
  const hash = createHash("sha256");
  let start = "";
  return new Promise((resolve) => {
    request.on("end", () => resolve({ sha256: hash.digest("hex"), start }));
    request.on("error", () => resolve(null));
    request.on("close", () => resolve(null));
    request.on("data", (bytes: Buffer) => {
      hash.update(bytes);
      if (start === "") start = bytes.subarray(0, START_BYTES).toString();
    });
  });
}

const port = Number(process.argv[2]);
await listen(server, port);
const stopWatching = watchLag((outage) => send({ type: "event", event: outage }));

async function obey(message: ToOrigin): Promise<void> {
  switch (message) {
    case "refuse":
      arrivals.closeAll();
      verifications.closeAll();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      return;
    case "listen":
      await listen(server, port);
      return;
    case "calm":
      calm = true;
      return;
    case "finish":
      stopWatching();
      arrivals.closeAll();
      verifications.closeAll();
      server.closeAllConnections();
  }
}

process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToOrigin) => {
  void obey(message).then(() => send({ type: "done", message }));
});
send({ type: "ready" });
