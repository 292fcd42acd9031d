// An origin in its own process that acts once for each request that it gets, whatever its key, and writes each act to a journal.
// Asked about a key, it says whether it has acted for it. It outlives the gateway's crashes, and acts although nobody listens.

import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { EffectLine, EffectsOptions } from "./effects.ts";
import { listen } from "./origin-server.ts";
import { stallSometimes } from "./stalls.ts";
import { strikesOfParent } from "./strikes.ts";

const options: EffectsOptions = JSON.parse(process.argv[2] ?? "");
const strikes = strikesOfParent();
// What an earlier process of this origin has done, which was killed, this one knows.
const keys = new Set(existsSync(options.journal) ? idsIn(readFileSync(options.journal, "utf8")) : []);
const journal = openSync(options.journal, "a");

function idsIn(lines: string): readonly string[] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const { id }: EffectLine = JSON.parse(line);
      return id;
    });
}

function write(line: EffectLine): void {
  writeSync(journal, `${JSON.stringify({ ...line, at: Date.now() })}\n`);
}

async function act(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers } = request;
  const attempt = String(headers["idempotency-attempt"]);
  const body = await text(request);
  // An event that is a step of a saga has its key in itself.
  const key = String(headers["idempotency-key"] ?? /"idempotencykey":"([^"]+)"/.exec(body)?.[1]);
  const id = String(headers["onceway-message-id"] ?? key);
  await strikes.at("origin-arrived");
  await pause(options.workMs);
  await stallSometimes();
  const wanted = /"origin":"(\d+)"/.exec(body)?.[1];
  // It refuses this many attempts before it acts.
  const refusals = Number(/"refusals":(\d+)/.exec(body)?.[1] ?? 0);
  const status = Number(attempt) <= refusals ? 503 : wanted === undefined ? 201 : Number(wanted);
  if (status !== 503) {
    keys.add(key);
    write({ kind: "effect", id, attempt });
  }
  await strikes.at("origin-acted");
  response.writeHead(status, { "content-type": "application/json" });
  await new Promise<void>((resolve) => void response.end(JSON.stringify({ id, attempt }), resolve));
  await strikes.at(status === 503 ? "refused" : "origin-answered");
}

async function tell(response: ServerResponse, key: string): Promise<void> {
  await strikes.at("origin-asked");
  const has = keys.has(key);
  response.writeHead(has ? 200 : 404, { "content-type": "application/json" }).end(JSON.stringify({ key }));
}

const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const key = /^\/by-key\/([^/]+)$/.exec(request.url ?? "")?.[1];
  const answered = key === undefined ? act(request, response) : tell(response, decodeURIComponent(key));
  answered.catch((error: unknown) => {
    process.stderr.write(`effects: ${String(error)}\n`);
    response.destroy();
  });
});
process.on("disconnect", () => process.exit(0));
await listen(server, options.port);
process.send?.({ ready: true });
