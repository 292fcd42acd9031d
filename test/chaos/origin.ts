// The origin of a run, as a process of its own: `startChaosOrigin` forks it and tells it when to refuse connections. It
// does with each arrival what the client's plan says, and reports every arrival once it is over. It ends with its parent.

import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { listen } from "../support/origin-server.ts";
import { createArrivals } from "./origin-arrivals.ts";
import type { OpenArrival } from "./origin-arrivals.ts";
import { answer } from "./origin-answer.ts";
import type { FromOrigin, ToOrigin } from "./origin-messages.ts";
import { createQuestions } from "./origin-questions.ts";
import { QUESTION_PATH } from "./routes.ts";
import { watchLag } from "./lag.ts";
import { CALM } from "./steps.ts";
import type { Step } from "./steps.ts";

/** An arrival that nobody ends is ended here; long after the gateway has given up on it. */
const STALL_MS = 6_000;

const send = (message: FromOrigin): void => void process.send?.(message);
const arrivals = createArrivals((event) => send({ type: "event", event }));
const questions = createQuestions(arrivals, (event) => send({ type: "event", event }));
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
  if (request.url?.startsWith(QUESTION_PATH) === true) return questions.answer(request, response, calm);
  const arrival = arrivals.open(request, response);
  return serve(arrival, calm ? CALM : arrival.step, request, response);
}

async function serve(
  arrival: OpenArrival,
  step: Step,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  arrival.begin(step.name);
  const reset = (): void => {
    arrival.breakOff();
    request.socket.resetAndDestroy();
  };
  if (step.name === "reset-unread") return reset();
  // What was not read whole was never asked for.
  const bodySha256 = await readWhole(request);
  if (bodySha256 === null) return;
  arrival.readWhole(bodySha256);
  if (step.name === "act-late") await pause(step.delayMs);
  if (step.name !== "refuse" && step.name !== "reset") arrival.act();
  switch (step.name) {
    case "reset":
    case "act-reset":
      return reset();
    case "stall":
      break;
    case "late":
    case "ok":
    case "refuse":
    case "doubt":
      await pause(step.delayMs);
      await answer(arrival, step, response, "whole");
      return;
    case "act-late":
      await answer(arrival, step, response, "whole");
      return;
    case "cut":
      await answer(arrival, step, response, "half");
      if (arrival.seq % 2 === 0) return reset();
      // The bytes before the cut reach the other side; a reset may overtake them.
      arrival.breakOff();
      request.socket.destroySoon();
      return;
    case "silent":
      await answer(arrival, step, response, "half");
  }
  await pause(STALL_MS);
  reset();
}

/** The body's digest; null when it does not come whole. */
function readWhole(request: IncomingMessage): Promise<string | null> {
  const hash = createHash("sha256");
  return new Promise((resolve) => {
    request.on("end", () => resolve(hash.digest("hex")));
    request.on("error", () => resolve(null));
    request.on("close", () => resolve(null));
    request.on("data", (bytes: Buffer) => void hash.update(bytes));
  });
}

const port = Number(process.argv[2]);
await listen(server, port);
const stopWatching = watchLag((outage) => send({ type: "event", event: outage }));

async function obey(message: ToOrigin): Promise<void> {
  switch (message) {
    case "refuse":
      arrivals.closeAll();
      questions.closeAll();
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
      questions.closeAll();
      server.closeAllConnections();
  }
}

process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToOrigin) => {
  void obey(message).then(() => send({ type: "done", message }));
});
send({ type: "ready" });
