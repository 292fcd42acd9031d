// The origin, and the connection to it. A call leaves the object when the writes before it are durable (output gate),
// arrives, takes effect, is answered: each is a step, and other steps may come in between. When the gateway has given a
// call up, the origin may still work on it until the attempt's lock has ended.
//
//   held ──commit──► on the wire ──► at work ──► answered: 201, 500 | 503 | 502 | connection lost
//                                       └── acts ──┘

import type { Clock } from "./clock.ts";
import { ends, hasResult } from "./ends.ts";
import type { AttemptFacts, Moment } from "./facts.ts";
import { PlainHeaders, type PlainRequest } from "./platform.ts";

/** Its answers have more headers than fit a record's row, so their bodies lie apart. */
const LONG_HEAD_STATUS = 500;
const LONG_HEADER = ["x-long", "x".repeat(600)] as const;

/** The content of a message that the origin never takes: its handler fails each time, and nobody can tell what it has done. */
export const POISON = "poison";
export const POISON_STATUS = 502;

type Work = "held" | "on the wire" | "at work" | "over";

interface Read {
  readonly done: boolean;
  readonly value?: Uint8Array;
}

export class OriginCall {
  readonly attempt: AttemptFacts;
  /** The write that has to be durable before the call leaves. */
  readonly gate: number;
  work: Work = "held";
  hasActed = false;
  /** What the body of its answer says, whatever its status; `null`: nothing. */
  says: "refused" | "ambiguous" | null = null;
  /** Whether the gateway still listens. */
  isHeard = true;
  /** The status of the answer; 0 before it. */
  status = 0;
  readonly #headers = Promise.withResolvers<object>();
  readonly #keptBytes: number;
  readonly #clock: Moment;
  readonly #requests: () => number;
  readonly #coming: Uint8Array[] = [];
  #sent = "";
  #hasEnded = false;
  #bytesRead = 0;
  #reading: PromiseWithResolvers<Read> | null = null;
  #view: Uint8Array | null = null;

  /** `requests`: how many requests clients have sent so far. */
  constructor(attempt: AttemptFacts, gate: number, keptBytes: number, clock: Moment, requests: () => number) {
    this.attempt = attempt;
    this.gate = gate;
    this.#keptBytes = keptBytes;
    this.#clock = clock;
    this.#requests = requests;
  }

  get response(): Promise<object> {
    return this.#headers.promise;
  }

  get isPoison(): boolean {
    return this.attempt.content.includes(`"${POISON}"`);
  }

  /** Whether more of the answer is to come. */
  get isAnswering(): boolean {
    return this.isHeard && this.status !== 0 && !this.#hasEnded;
  }

  /** Whether the origin still owes the gateway something. */
  get isOpen(): boolean {
    return this.isHeard && !this.#hasEnded;
  }

  /** The bytes still to come of an answer with a declared length; `null` without one. */
  get left(): number | null {
    const { declaredBytes } = this.attempt;
    return declaredBytes === null ? null : declaredBytes - this.#sent.length;
  }

  /** Sends the head, with `length` as Content-Length if given. The body follows in pieces. */
  answer(status: number, length: number | null = null): void {
    this.status = status;
    this.attempt.declaredBytes = length;
    const isDone = status !== 502 || this.hasActed;
    if (isDone) this.work = "over";
    if (status < 502) this.attempt.answeredAtMs = this.#clock.nowMs;
    // The head says that the origin did not and will not act, so the next attempt need not wait for the body.
    if (status === 503) {
      this.attempt.isRefused = true;
      ends(this.attempt, this.#clock);
      this.attempt.refusedAfter = this.#requests();
      this.attempt.isInFlight = false;
    }
    const getReader = (): object => ({ read: (view: Uint8Array) => this.#read(view), cancel: () => this.#cancel() });
    const declared = length === null ? [] : [["content-length", String(length)] as const];
    const headers = new PlainHeaders(status === LONG_HEAD_STATUS ? [...declared, LONG_HEADER] : declared);
    this.#headers.resolve({ status, statusText: "", headers, body: { getReader } });
  }

  /** Sends the head of an answer whose body says that it is no result. What it says is known when all of it is there. */
  answerInBody(says: "refused" | "ambiguous", body: string): void {
    this.says = says;
    this.status = 201;
    if (says === "refused" || this.hasActed) this.work = "over";
    this.attempt.declaredBytes = null;
    const getReader = (): object => ({ read: (view: Uint8Array) => this.#read(view), cancel: () => this.#cancel() });
    const headers = new PlainHeaders([["content-type", "application/json"]]);
    this.#headers.resolve({ status: 201, statusText: "", headers, body: { getReader } });
    this.send(body);
  }

  send(text: string): void {
    // Whatever follows, JSON stays JSON.
    const sent = this.says === null ? text : text.replaceAll(".", " ");
    this.#sent += sent;
    this.#coming.push(new TextEncoder().encode(sent));
    if (this.left === 0) this.end();
    else this.#serve();
  }

  end(): void {
    this.attempt.wholes.push(this.#sent);
    this.#hasEnded = true;
    const { ended } = this.attempt;
    if (ended !== null && this.#clock.corrections > ended.corrections) ends(this.attempt, this.#clock);
    this.#serve();
    // Even if the gateway does not read it.
    this.attempt.isInFlight = false;
  }

  /** The connection breaks, or the gateway gives the call up. The origin may continue. */
  lose(): void {
    if (!this.isHeard) return;
    this.abandon();
    const error = new Error("connection lost");
    if (this.status === 0) this.#headers.reject(error);
    else this.#reading?.reject(error);
  }

  /** The gateway no longer listens. A held call never leaves. */
  abandon(): void {
    this.isHeard = false;
    this.attempt.isInFlight = false;
    if (this.work === "held" || this.hasActed) this.work = "over";
  }

  #read(view: Uint8Array): Promise<Read> {
    const reading = Promise.withResolvers<Read>();
    this.#view = view;
    this.#reading = reading;
    if (!this.isHeard) reading.reject(new Error("connection lost"));
    else this.#serve();
    return reading.promise;
  }

  #serve(): void {
    const reading = this.#reading;
    if (reading === null || this.#view === null) return;
    const bytes = this.#coming.shift();
    if (bytes === undefined && !this.#hasEnded) return;
    this.#reading = null;
    if (bytes === undefined) {
      this.#over();
      reading.resolve({ done: true });
      return;
    }
    this.#bytesRead += bytes.byteLength;
    // A body too large to keep is settled as soon as that is known.
    if (this.#bytesRead > this.#keptBytes) this.#learnt();
    // The gateway does not read beyond the declared length.
    if (this.#bytesRead === this.attempt.declaredBytes) this.#over();
    this.#view.set(bytes);
    reading.resolve({ done: false, value: this.#view.subarray(0, bytes.byteLength) });
  }

  /** The gateway has the whole answer. */
  #over(): void {
    this.#learnt();
    this.isHeard = false;
    this.attempt.isInFlight = false;
  }

  /** The gateway knows from now on how the attempt ended. */
  #learnt(): void {
    if (this.says === "refused") {
      this.attempt.isRefused = true;
      ends(this.attempt, this.#clock);
      this.attempt.refusedAfter = this.#requests();
    }
    if (this.says !== null) return;
    if (this.status < 502) hasResult(this.attempt, this.#clock);
  }

  #cancel(): Promise<void> {
    this.lose();
    return Promise.resolve();
  }
}

/** What an attempt's effect is reported to. */
interface Effects {
  acts(attempt: AttemptFacts): void;
}

/** The origin does what the call asks for. */
export function act(call: OriginCall, effects: Effects): void {
  call.hasActed = true;
  effects.acts(call.attempt);
  if (!call.isHeard || call.status !== 0) call.work = "over";
}

/** The origin does all that is left of a call: it acts, answers and sends the rest. */
export function complete(call: OriginCall, effects: Effects): void {
  if (call.status === 0 && call.isPoison) {
    call.answer(POISON_STATUS);
    call.send(`${call.attempt.id} ${POISON_STATUS}`);
  } else if (call.status === 0) {
    if (!call.hasActed) effects.acts(call.attempt);
    call.hasActed = true;
    call.answer(201);
    call.send(`${call.attempt.id} 201`);
  }
  if (call.left === null) call.end();
  else call.send(".".repeat(call.left));
}

export class Origin {
  calls: OriginCall[] = [];

  /** Implements the gateway's `fetch`. */
  fetch(request: PlainRequest, call: OriginCall): Promise<object> {
    call.attempt.number = Number(request.headers.get("idempotency-attempt"));
    this.calls.push(call);
    request.signal?.addEventListener("abort", () => call.lose());
    return call.response;
  }

  /** The object is gone, and all its connections with it. */
  crash(object: string): void {
    for (const call of this.calls) if (call.attempt.object === object) call.abandon();
  }

  /** Drops finished calls: the work of lost attempts ends with their locks. */
  expire(clock: Pick<Clock, "latestSince">): void {
    this.calls = this.calls.filter((call) => {
      if (call.isHeard) return true;
      const { corrections, lockedUntilMs } = call.attempt;
      if (clock.latestSince(corrections) >= lockedUntilMs) call.work = "over";
      return call.work !== "over";
    });
  }

  /** The attempts that the origin is working on. */
  atWork(): readonly AttemptFacts[] {
    return this.calls.flatMap(({ work, attempt }) => (work === "at work" ? [attempt] : []));
  }
}
