// An origin in its own process that acts once for each request that it gets, whatever its key. It writes each act, and each request and
// question when it is over, to a journal, which is a part of a history (test/guarantees). Asked about a key, it says whether it has acted
// for it. It outlives the gateway's crashes, and acts although nobody listens.

import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { type ArrivalHead, attemptIn, createArrivals, deliveryIn, header } from "../guarantees/recorders/arrivals.ts";
import { bodyOf, digestHead, MARKS_HEADER, REQUEST_HEADER, sha256 } from "../guarantees/recorders/marks.ts";
import { createQuestions } from "../guarantees/recorders/verifications.ts";
import { type EffectsOptions, type OriginLine, scopeOf } from "./effects.ts";
import { listen } from "./origin-server.ts";
import { stallSometimes } from "./stalls.ts";
import { strikesOfParent } from "./strikes.ts";

const options: EffectsOptions = JSON.parse(process.argv[2] ?? "");
const strikes = strikesOfParent();
// What an earlier process of this origin has done, which was killed, this one knows.
const earlier = existsSync(options.journal) ? linesOf(readFileSync(options.journal, "utf8")) : [];
const journal = openSync(options.journal, "a");
const arrivals = createArrivals(write, earlier);
const verifications = createQuestions(arrivals, write);

function linesOf(lines: string): readonly OriginLine[] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const read: OriginLine = JSON.parse(line);
      return read;
    });
}

function write(line: OriginLine): void {
  writeSync(journal, `${JSON.stringify(line)}\n`);
}

/** Of each answer, beside its marks. */
const BYTES = 50;

function headOf(request: IncomingMessage, body: string): ArrivalHead {
  const isMessage = header(request, "onceway-message-id") !== "";
  const credential = header(request, "authorization");
  const scope = scopeOf(credential);
  // An event that is a step of a saga has its key in itself.
  const key = header(request, "idempotency-key") || (/"idempotencykey":"([^"]+)"/.exec(body)?.[1] ?? "");
  const of = { key, scope, credential, path: request.url ?? "", attempt: attemptIn(request) };
  return {
    request: isMessage ? deliveryIn(request) : header(request, REQUEST_HEADER),
    ...of,
    hasKey: key !== "",
    step: "ok",
  };
}

async function act(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const arrival = arrivals.open(headOf(request, body), response);
  arrival.readWhole(sha256(body));
  await strikes.at("origin-arrived");
  await pause(options.workMs);
  await stallSometimes();
  const wanted = /"origin":"(\d+)"/.exec(body)?.[1];
  // It refuses this many attempts before it acts.
  const refusals = Number(/"refusals":(\d+)/.exec(body)?.[1] ?? 0);
  const isRefused = (attemptIn(request) ?? 1) <= refusals;
  const status = isRefused ? 503 : Number(wanted ?? 201);
  if (status !== 503) arrival.act();
  await strikes.at("origin-acted");
  const marks = arrival.marks(BYTES);
  const answer = bodyOf(marks);
  const headers: [string, string][] = [
    ["Content-Type", "application/octet-stream"],
    ["Content-Length", String(answer.length)],
    [MARKS_HEADER, JSON.stringify(marks)],
  ];
  response.sendDate = false;
  response.writeHead(status, "Answered", headers.flat());
  arrival.headWritten(status, digestHead(status, "Answered", headers), answer.length);
  arrival.lastPiece(sha256(answer));
  await new Promise<void>((resolve) => void response.end(answer, resolve));
  await strikes.at(status === 503 ? "refused" : "origin-answered");
}

async function tell(request: IncomingMessage, response: ServerResponse, key: string): Promise<void> {
  await strikes.at("origin-asked");
  const credential = header(request, "authorization");
  await verifications.answer({ key, scope: scopeOf(credential), credential, mode: "truth" }, request, response);
}

const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const key = /^\/by-key\/([^/]+)$/.exec(request.url ?? "")?.[1];
  const answered = key === undefined ? act(request, response) : tell(request, response, decodeURIComponent(key));
  answered.catch((error: unknown) => {
    process.stderr.write(`effects: ${String(error)}\n`);
    response.destroy();
  });
});
process.on("disconnect", () => process.exit(0));
await listen(server, options.port);
process.send?.({ ready: true });
