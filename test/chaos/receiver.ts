// The receiver of events, in its own process: `startReceiver` forks it. It verifies each event with the standard's own library, reports
// it, and takes it, refuses it, hangs or resets, as its seed says.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { listen } from "../support/origin-server.ts";
import type { EventAnswer } from "../guarantees/history.ts";
import { eventTry } from "../guarantees/recorders/event-tries.ts";
import { createRandom } from "./random.ts";
import { type FromReceiver, HOOK_SECRET, type ToReceiver } from "./receiver-client.ts";

const [port, seed, takesAll] = process.argv.slice(2);
const random = createRandom(seed ?? "", "receiver");
const webhook = new Webhook(HOOK_SECRET);
const send = (message: FromReceiver): void => void process.send?.(message);
let calm = takesAll !== undefined;

/** Less than a second, so that a taken event comes again only if its answer was lost. */
const LATE_MS = 600;

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const at = Date.now();
  const { headers, url = "" } = request;
  // A request breaks off when its gateway is killed.
  const body = await text(request).catch(() => null);
  if (body === null) return;
  const answer = calm ? "taken" : drawAnswer();
  const webhookId = String(headers["webhook-id"]);
  const event = eventTry(body, { destination: url.slice(1), webhookId, isSigned: isSigned(body, headers), at, answer });
  if (answer === "late") await pause(LATE_MS);
  send({ type: "event", event });
  give(answer, request, response);
}

function drawAnswer(): EventAnswer {
  return random.weighted([
    [60, "taken"],
    [6, "late"],
    [6, "lost"],
    [6, "reset"],
    [6, "422"],
    [5, "503"],
    [3, "429"],
    [2, "410"],
    [2, "hang"],
  ] as const);
}

function give(answer: EventAnswer, request: IncomingMessage, response: ServerResponse): void {
  switch (answer) {
    case "taken":
    case "late":
      response.writeHead(204).end();
      return;
    case "lost":
    case "reset":
      request.socket.resetAndDestroy();
      return;
    case "422":
    case "410":
    case "500":
    case "503":
      response.writeHead(Number(answer)).end();
      return;
    case "429":
      response.writeHead(429, { "Retry-After": "6" }).end();
      return;
    case "hang":
    // The gateway gives it up.
  }
}

function isSigned(body: string, headers: IncomingHttpHeaders): boolean {
  try {
    webhook.verify(body, Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])));
    return true;
  } catch {
    return false;
  }
}

const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
  receive(request, response).catch((error: unknown) => {
    process.stderr.write(`chaos receiver: ${String(error)}\n`);
    response.destroy();
  });
});

process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToReceiver) => {
  if (message === "calm") calm = true;
  else server.closeAllConnections();
  send({ type: "done", message });
});
await listen(server, Number(port));
send({ type: "ready" });
