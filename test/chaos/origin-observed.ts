// The origin of the route that is only observed. It knows no keys: each request that it carries out takes effect, and its answer names the effect. Sometimes
// it answers with an effect from before, as an API that knows the key.

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { HeaderPair } from "../support/http.ts";
import type { ObservedArrival, OriginMarks } from "../guarantees/history.ts";
import { type Arrivals, header } from "../guarantees/recorders/arrivals.ts";
import { digestHead, MARKS_HEADER, REQUEST_HEADER, sha256 } from "../guarantees/recorders/marks.ts";
import { PLAN_HEADER } from "./steps.ts";

export type ObservedStep =
  /** Acts and answers at once, late, or with more than is copied. */
  | "act"
  | "act-late"
  | "act-large"
  /** Answers with an effect that the key has had, if it has had one. */
  | "known"
  | "refuse"
  /** Acts, and resets before its answer or within it. */
  | "act-reset"
  | "cut";

const LATE_MS = 300;
/** More than the gateway copies of an answer. */
const LARGE_BYTES = 100_000;

/** What the network and the platform make anew on each hop, and what each gateway says to the origin (src/kernel/request/README.md). */
const OF_HOPS: ReadonlySet<string> = new Set([
  "accept-encoding",
  "cf-worker",
  "connection",
  "content-length",
  "host",
  "transfer-encoding",
  "x-forwarded-host",
  "x-forwarded-proto",
]);

/** Of headers as their client sent them, whatever their order. */
export function digestSent(headers: readonly HeaderPair[]): string {
  const own = headers
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !OF_HOPS.has(name))
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(own);
}

export class ObservedOrigin {
  readonly #arrivals: Pick<Arrivals, "number">;
  readonly #report: (event: ObservedArrival) => void;
  readonly #effects = new Map<string, string[]>();
  #made = 0;

  constructor(arrivals: Pick<Arrivals, "number">, report: (event: ObservedArrival) => void) {
    this.#arrivals = arrivals;
    this.#report = report;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const of = {
      type: "observed-arrival",
      seq: this.#arrivals.number(),
      request: header(request, REQUEST_HEADER),
      key: header(request, "x-key"),
      at: Date.now(),
      headers: digestSent(pairsOf(request.rawHeaders)),
    } as const;
    const unanswered = { status: null, answerHeaders: null, lastAt: null, sha256: null, effect: null } as const;
    const bodySha256 = await readWhole(request);
    if (bodySha256 === null) return this.#report({ ...of, ...unanswered, bodySha256 });
    const [step]: readonly [ObservedStep] = JSON.parse(header(request, PLAN_HEADER));
    if (step === "act-late") await pause(LATE_MS);
    const effect = step === "refuse" ? null : this.#act(of.key, step === "known");
    if (step === "act-reset") {
      this.#report({ ...of, ...unanswered, bodySha256 });
      request.socket.resetAndDestroy();
      return;
    }
    const isLarge = step === "act-large";
    const text = JSON.stringify({ id: effect, ...(isLarge ? { text: "x".repeat(LARGE_BYTES) } : null) });
    const marks: OriginMarks = { arrival: of.seq, request: of.request, key: of.key, scope: "", effect, bytes: 0 };
    const status = step === "refuse" ? 503 : 201;
    const headers: [string, string][] = [
      ["Content-Type", "application/json"],
      ["Content-Length", String(Buffer.byteLength(text))],
      [MARKS_HEADER, JSON.stringify(marks)],
    ];
    const answerHeaders = digestHead(status, "Observed", headers);
    response.sendDate = false;
    response.writeHead(status, "Observed", headers.flat());
    if (step === "cut") {
      this.#report({ ...of, ...unanswered, bodySha256, status, answerHeaders });
      response.write(text.slice(0, 5));
      await pause(20);
      request.socket.destroySoon();
      return;
    }
    const seen = isLarge ? null : effect;
    this.#report({ ...of, bodySha256, status, answerHeaders, lastAt: Date.now(), sha256: sha256(text), effect: seen });
    response.end(text);
  }

  #act(key: string, isKnown: boolean): string {
    const before = this.#effects.get(key) ?? [];
    const [first] = before;
    if (isKnown && first !== undefined) return first;
    this.#made += 1;
    const effect = `o${this.#made}`;
    this.#effects.set(key, [...before, effect]);
    return effect;
  }
}

function pairsOf(raw: readonly string[]): readonly HeaderPair[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""] as const] : []));
}

/** The body's digest; `null` if it does not arrive whole. */
function readWhole(request: IncomingMessage): Promise<string | null> {
  const hash = createHash("sha256");
  return new Promise((resolve) => {
    request.on("end", () => resolve(hash.digest("hex")));
    request.on("error", () => resolve(null));
    request.on("close", () => resolve(null));
    request.on("data", (bytes: Buffer) => void hash.update(bytes));
  });
}
