// A client of a test that writes a history: it sends each request to a gateway that may be down, and reports what came back.

import { openRequest, endpoint, type HeaderPair } from "../../support/http.ts";
import { scopeOf } from "../../support/effects.ts";
import type { Exchange, HistoryEvent, Look } from "../history.ts";
import { readEnding } from "./answer.ts";
import { REQUEST_HEADER, sha256 } from "./marks.ts";

/** A request that is tried until it has the wanted answer. */
export interface Operation {
  readonly path: string;
  readonly key: string;
  readonly body: string;
  readonly credential: string;
}

export interface MonitorQuestion extends Operation {
  readonly monitor: string;
  /** Who asks; the operation's own caller by default. */
  readonly asker?: string;
  readonly isStranger?: boolean;
}

/** Longer than any answer may take. */
const PATIENCE_MS = 30_000;

export class RecordingClient {
  readonly #url: () => string;
  readonly #report: (event: HistoryEvent) => void;
  #sent = 0;

  constructor(url: () => string, report: (event: HistoryEvent) => void) {
    this.#url = url;
    this.#report = report;
  }

  /** `isCalm`: at the end of a run, when nothing is broken any more. */
  async send({ path, key, body, credential }: Operation, isCalm = false): Promise<Exchange> {
    const id = this.#nextId("q");
    const sentAt = Date.now();
    const headers: HeaderPair[] = [
      ["Idempotency-Key", key],
      ["Content-Type", "application/json"],
      [REQUEST_HEADER, id],
      ["Content-Length", String(Buffer.byteLength(body))],
    ];
    const ending = await this.#ask("POST", path, credential, headers, body);
    const exchange: Exchange = {
      type: "exchange",
      id,
      key,
      scope: scopeOf(credential),
      credential,
      path,
      fingerprint: "first",
      partial: false,
      bytes: Buffer.byteLength(body),
      bodySha256: sha256(body),
      stalledMs: 0,
      prefer: null,
      calm: isCalm,
      sentAt,
      endAt: Date.now(),
      ending,
    };
    this.#report(exchange);
    return exchange;
  }

  async look({
    path,
    key,
    credential,
    monitor,
    asker = credential,
    isStranger = false,
  }: MonitorQuestion): Promise<Look> {
    const id = this.#nextId("m");
    const sentAt = Date.now();
    const ending = await this.#ask("GET", monitor, asker, []);
    const of = { key, scope: scopeOf(credential), path, monitor, method: "GET", isStranger } as const;
    const look: Look = { type: "look", id, ...of, sentAt, endAt: Date.now(), ending };
    this.#report(look);
    return look;
  }

  #nextId(kind: string): string {
    this.#sent += 1;
    return `${kind}${this.#sent}`;
  }

  #ask(method: string, target: string, credential: string, headers: readonly HeaderPair[], body?: string) {
    const own: HeaderPair[] = credential === "" ? [] : [["Authorization", credential]];
    const content = body === undefined ? {} : { body };
    const call = { ...endpoint(this.#url()), method, target, headers: [...own, ...headers], ...content };
    return readEnding(openRequest({ ...call, timeoutMs: PATIENCE_MS }).response);
  }
}
