// A receiver of webhooks in a process of its own: it verifies each event with the standard's own library, writes it to a journal, and
// answers as its path says. It outlives the gateway's crashes, and can be killed itself.

import { openSync, writeSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import * as v from "valibot";
import type { EventAnswer } from "../guarantees/history.ts";
import { eventTry } from "../guarantees/recorders/event-tries.ts";
import type { HookLine, HookOptions } from "./hook.ts";
import { listen } from "./origin-server.ts";
import { strikesOfParent } from "./strikes.ts";

const options: HookOptions = JSON.parse(process.argv[2] ?? "");
const strikes = strikesOfParent();
const journal = openSync(options.journal, "a");

const cloudEvent = v.looseObject({
  id: v.string(),
  subject: v.string(),
  type: v.string(),
  idempotencykey: v.optional(v.string()),
});

/** By the path. */
const ANSWERS: ReadonlyMap<string, EventAnswer> = new Map([
  ["/taken", "taken"],
  ["/gone", "410"],
  ["/refuses", "500"],
  ["/hangs", "hang"],
]);

function isVerified(secret: string, body: string, headers: IncomingHttpHeaders): boolean {
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  try {
    new Webhook(secret).verify(body, texts);
    return true;
  } catch {
    return false;
  }
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers, url = "" } = request;
  const body = await text(request);
  await strikes.at("event-arrived");
  const event = v.parse(cloudEvent, JSON.parse(body));
  const { id, subject, type, idempotencykey } = event;
  const verified = options.secrets.map((secret) => isVerified(secret, body, headers));
  const webhookId = String(headers["webhook-id"]);
  const alert = type.startsWith("dev.onceway.alert.") ? { alert: event } : {};
  const answer = ANSWERS.get(url) ?? "hang";
  const at = Date.now();
  const received = { destination: url.slice(1), webhookId, isSigned: verified.some(Boolean), at, answer };
  const inHistory = idempotencykey === undefined ? {} : { event: eventTry(body, received) };
  const line: HookLine = { path: url, id, webhookId, subject, type, verified, at, ...inHistory, ...alert };
  writeSync(journal, `${JSON.stringify(line)}\n`);
  await strikes.at("event-taken");
  if (answer === "hang") return;
  await new Promise<void>((resolve) => void response.writeHead(answer === "taken" ? 204 : Number(answer)).end(resolve));
  await strikes.at("event-answered");
}

const server = createServer((request, response) => {
  receive(request, response).catch((error: unknown) => {
    process.stderr.write(`hook: ${String(error)}\n`);
    response.destroy();
  });
});
process.on("disconnect", () => process.exit(0));
await listen(server, options.port);
process.send?.({ ready: true });
