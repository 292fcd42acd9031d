// Rules about the answers that clients get (G2, G4, G7), checked when an answer or its bytes leave the object.

import type { OwnAnswer } from "./actors.ts";
import type { Clock } from "./clock.ts";
import type { DurableRow } from "./durable.ts";
import type { AttemptFacts, Facts, HeardResult } from "./facts.ts";
import type { Plan } from "./plan.ts";
import { LEAST_RETENTION_MS } from "./times.ts";
import type { PlainResponse } from "./platform.ts";
import type { Rules } from "./rules.ts";

export interface Asked {
  readonly name: string;
  readonly record: string;
  readonly fingerprint: string;
  /** The result that a client had already got from the record when this request was sent. */
  readonly heardBefore: HeardResult | null;
  readonly sentMs: number;
  /** The same by a right clock. */
  readonly sentRightMs: number;
  /** How many requests had been sent by then, with this one. */
  readonly sentAfter: number;
  /** How often people had erased the record when it was sent. */
  readonly erasures: number;
}

/** What features know of an answer. */
type HearOwn = (asked: Asked, response: PlainResponse) => OwnAnswer | null;

export class AnswerRules {
  readonly #clock: Clock;
  readonly #facts: Facts;
  readonly #rules: Rules;
  readonly #plan: Pick<Plan, "unknown" | "remembers">;
  readonly #hearOwn: HearOwn;

  constructor(
    clock: Clock,
    facts: Facts,
    rules: Rules,
    plan: Pick<Plan, "unknown" | "remembers">,
    hearOwn: HearOwn = () => null,
  ) {
    this.#clock = clock;
    this.#facts = facts;
    this.#rules = rules;
    this.#plan = plan;
    this.#hearOwn = hearOwn;
  }

  /** An answer that is not a stream leaves the object. Returns a short description of it. */
  hears(asked: Asked, response: PlainResponse): string {
    const { status, body, headers } = response;
    const text = typeof body === "string" ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : "";
    const own = this.#hearOwn(asked, response);
    if (own !== null) {
      const isSame = asked.heardBefore?.fingerprint === asked.fingerprint;
      if (isSame && own.replacesResult) this.#hearsNoResult(asked, own.what);
      return own.what;
    }
    if (headers.get("content-type") === "application/problem+json") {
      const code = /"code":"([a-z-]+)"/.exec(text)?.[1] ?? "none";
      this.#hearsProblem(asked, code);
      return code;
    }
    if (status === 502 || status === 503) this.#hearsNoResult(asked, `a passed ${status}`);
    else this.hearsResult(asked, status, text);
    return `${headers.get("idempotent-replayed") === null ? "first" : "replay"} ${status} ${text}`;
  }

  #hearsProblem(asked: Asked, code: string): void {
    if (this.#facts.unreadable.has(asked.record) && code !== "store-unavailable")
      this.#rules.broken("G6", `${asked.name} hears ${code} of a record that cannot be read`);
    const attempts = this.#facts.of(asked.record);
    const row = this.#facts.rows.get(asked.record);
    switch (code) {
      case "key-reused":
        if (!this.#mayBeReused(asked, row)) {
          this.#rules.broken("G2", `${asked.name} hears ${code}, but every request for the key was the same`);
        }
        if (asked.heardBefore?.fingerprint === asked.fingerprint) this.#hearsNoResult(asked, code);
        return;
      case "response-not-kept":
        if (
          !(row?.state === "completed" && !row.isKept) &&
          !attempts.some((one) => one.isForgotten || this.#isOver(one) || this.#rules.hasExpired(one))
        ) {
          this.#rules.broken("G4", `${asked.name} hears ${code}, but no durable record says so`);
        }
        return;
      case "key-expired":
        this.#hearsExpired(asked, attempts);
        break;
      case "outcome-unknown":
        if (this.#plan.unknown === "retry" || attempts.length === 0) {
          this.#rules.broken("G6", `${asked.name} hears ${code}, but no attempt's outcome is unknown`);
        }
    }
    this.#hearsNoResult(asked, code);
  }

  /** Whether the key may have been used for another request: one that was tried, or was accepted to be. */
  #mayBeReused({ record, fingerprint, erasures }: Asked, row: DurableRow | undefined): boolean {
    const isOther = (one: { readonly fingerprint: string }): boolean => one.fingerprint !== fingerprint;
    if (this.#facts.of(record).some(isOther) || erasures !== this.#facts.erasuresOf(record)) return true;
    return row !== undefined && isOther(row);
  }

  /** Only the same request hears that, of a remembered key, and not as long as its record is certainly kept. */
  #hearsExpired({ name, record, fingerprint, sentMs, erasures }: Asked, attempts: readonly AttemptFacts[]): void {
    const last = attempts.at(-1);
    if (!this.#plan.remembers || last === undefined) {
      this.#rules.broken("G2", `${name} hears key-expired, but no key is remembered`);
      return;
    }
    if (attempts.every((one) => one.fingerprint !== fingerprint)) {
      this.#rules.broken("G2", `${name} hears key-expired, but no request for the key was the same`);
    }
    const agoMs = this.#clock.latestMs - last.startedAtMs;
    // A later one may have started between the answer and the commit that it waits for, in the same millisecond too if the record was erased.
    const isEarlier = last.startedAtMs <= sentMs && erasures === this.#facts.erasuresOf(record);
    if (isEarlier && !last.isForgotten && agoMs < LEAST_RETENTION_MS) {
      this.#rules.broken("G2", `${name} hears key-expired, but ${last.id} started only ${agoMs} ms ago`);
    }
  }

  /** Whether the result may have expired since it was settled. */
  #isOver({ answeredAtMs }: Pick<AttemptFacts, "answeredAtMs">): boolean {
    return answeredAtMs !== null && this.#clock.latestMs >= answeredAtMs + LEAST_RETENTION_MS;
  }

  /** A request sent after a client got the result gets that result too, as long as it is kept. */
  #hearsNoResult({ name, heardBefore, record }: Asked, what: string): void {
    const isKept = this.#facts.rows.get(record)?.isKept === true;
    if (heardBefore !== null && !heardBefore.isForgotten && isKept && this.#clock.latestMs < heardBefore.untilMs) {
      this.#rules.broken(
        "G2",
        `${name} hears ${what}, expected a replay of ${heardBefore.text}, which was told before`,
      );
    }
  }

  /** An object replays a result, which is that of the record's last attempt. */
  replays(record: string, { body }: PlainResponse): void {
    const last = this.#facts.of(record).at(-1);
    const text = typeof body === "string" ? body : body instanceof Uint8Array ? new TextDecoder().decode(body) : "";
    if (text !== "" && last !== undefined && attemptIn(text) !== last.id) {
      this.#rules.broken("G2", `${text} is replayed, but ${last.id} has started since`);
    }
  }

  /** A client has got a whole result. */
  hearsResult({ name, record, fingerprint }: Asked, status: number, text: string): void {
    const attempt = this.#facts.attempts.get(attemptIn(text));
    if (attempt?.record !== record || attempt.fingerprint !== fingerprint) {
      this.#rules.broken("G7", `${name} hears ${text}, which answers another request`);
      return;
    }
    // A request that is delivered again after its record was erased starts an attempt with the same id.
    const answered = this.#facts.of(record).filter(({ id, wholes }) => id === attempt.id && wholes.includes(text));
    if (answered.length === 0)
      this.#rules.broken("G2", `${name} hears ${text} as complete, but the origin's answer is longer`);
    const untilMs = (attempt.resultAtMs ?? 0) + LEAST_RETENTION_MS;
    // A client may still read an answer that an operator has erased since it left the object.
    const isOver = this.#clock.latestMs >= untilMs || this.#rules.hasExpired(attempt);
    if (isOver || answered.some(({ isForgotten }) => isForgotten)) return;
    const row = this.#facts.rows.get(record);
    const isDurable = row?.state === "completed" && row.attemptId === attempt.id && row.status === status;
    if (!isDurable || (row.text !== null && row.text !== text)) {
      this.#rules.broken("G4", `${name} hears ${text}, and no record of that is durable`);
    }
    const reported = this.#facts.reported.get(record);
    if (
      reported !== undefined &&
      this.#clock.latestMs < reported.untilMs &&
      (reported.text !== text || reported.status !== status)
    ) {
      this.#rules.broken(
        "G2",
        `${name} hears ${status} ${text}, expected a replay of ${reported.status} ${reported.text}, which was told before`,
      );
    }
    // Still the same: a request that was sent meanwhile has to learn, too, that an operator forgets it.
    if (reported?.text === text && reported.status === status && reported.fingerprint === fingerprint) return;
    this.#facts.reported.set(record, { text, status, fingerprint, untilMs, isForgotten: false });
  }

  /** A client has got bytes of a stream: `text` is all of them so far. */
  hearsBytes(asked: Asked, status: number, text: string, keptBytes: number): void {
    const { name, record } = asked;
    const attempt = this.#facts.attempts.get(attemptIn(text));
    // With a declared length, the last byte completes the answer.
    if (attempt?.declaredBytes === text.length) this.hearsResult(asked, status, text);
    if (attempt?.record !== record) this.#rules.broken("G7", `${name} hears ${text}, which answers another request`);
    // It may have been completed and erased again between two commits.
    else if (this.#isOver({ answeredAtMs: attempt.resultAtMs })) return;
    else if (text.length <= keptBytes && text.length > (this.#facts.durableBytes.get(attempt.id) ?? 0)) {
      const durable = this.#facts.durableBytes.get(attempt.id) ?? 0;
      this.#rules.broken("G4", `${name} hears ${text.length} bytes of ${attempt.id}, but only ${durable} are durable`);
    }
  }
}

/** Every body of the origin begins with the id of the attempt that it answers. */
function attemptIn(text: string): string {
  // What the origin says of its state, or where the gateway has asked it.
  return /"by":"([^"]+)"/.exec(text)?.[1] ?? text.split(" ", 1)[0] ?? "";
}
