// One attempt while this instance runs it: the call to the origin, and its body on its way into the ledger and to all who
// read it.

import type { Started } from "../core/record.ts";
import { judge } from "../core/verdict.ts";
import type { ExchangeHead } from "../http/message.ts";
import { firstOf } from "../http/patience.ts";
import { attachedAnswer, type Body, firstAnswer, isPossible, skippedBytes, wholeBody } from "./answers.ts";
import { type Bodies, CHUNK_BYTES } from "./bodies.ts";
import type { Patience } from "./byte-pipe.ts";
import { Ending, type StepRecord, type Told } from "./ending.ts";
import type { StoredBody } from "./response-rows.ts";
import type { BodyPiece, OriginOutcome, OriginResponse } from "./origin-call.ts";
import { Overflow } from "./overflow.ts";
import { continued, readSmall } from "./passing.ts";
import type { RemoteBodies } from "./remote-bodies.ts";
import { isShort, spoolFor } from "./response-spool.ts";
import type { Spool } from "./spool.ts";
import type { Timers } from "./timers.ts";

/** What an attempt needs of its shard. */
export interface AttemptPorts {
  /** The body that has just been stored; `null` where the record does not keep one. */
  readonly reopen: (patience: Patience) => Promise<Body | null>;
  readonly bodies: Bodies;
  readonly remote: RemoteBodies;
  /** Resolves when everything written so far is durable. */
  readonly sync: () => Promise<void>;
  readonly step: StepRecord;
  readonly timers: Timers;
}

/** The answer of an origin that refused, small enough to be given to all who waited. */
export type Refusal = OriginResponse & { readonly bytes: Uint8Array };

/** A response whose body does not come is told without it: an event stream may be silent for long after its head. */
const HEAD_PATIENCE_MS = 100;

const EMPTY = new Uint8Array();

export class Attempt {
  readonly #head: ExchangeHead;
  readonly #record: Started;
  readonly #ports: AttemptPorts;
  readonly #ending: Ending;
  readonly #begun = Promise.withResolvers<void>();
  #response: OriginResponse | null = null;
  #spool: Spool | null = null;
  /** Whether the response is to be replayed. */
  #kept = true;
  /** Where a body goes that is too large for the ledger. */
  #overflow: Overflow | null = null;
  #hasBegun = false;

  constructor(head: ExchangeHead, record: Started, ports: AttemptPorts) {
    this.#head = head;
    this.#record = record;
    this.#ports = ports;
    this.#ending = new Ending(head, record, ports.step);
  }

  get id(): Started["attempt"]["id"] {
    return this.#record.attempt.id;
  }

  get #patience(): Patience {
    return { timers: this.#ports.timers, idleMs: this.#head.idleTimeoutMs };
  }

  /** The first client's answer: when the record is settled, or when the first bytes of a stream are durable. */
  get answer(): Promise<Told> {
    return this.#ending.answer;
  }

  /** Resolves when the first client is told of a stream; never when it is told all at once. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Whether the first client has been told that a stream comes. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The stream from its first byte, or from where `head` says that the client left off; `null` when there is none. */
  attach(head: ExchangeHead): Response | null {
    const spool = this.#spool;
    if (this.#response === null || spool === null || !this.#hasBegun || this.#overflow !== null) return null;
    const skip = skippedBytes(this.#response, head, (search) => {
      for (let number = 0; number < spool.chunks && search.offset === null; number++) {
        search.feed(this.#ports.bodies.read(this.id, number) ?? EMPTY);
      }
    });
    return attachedAnswer(this.#response, spool.reader(this.#response.length, skip), head);
  }

  /** Runs to the end; resolves with a refusal that those who waited may share, else `null`. Never rejects. */
  async run(call: () => Promise<OriginOutcome>): Promise<Refusal | null> {
    try {
      const outcome = await call();
      if (!("next" in outcome)) {
        this.#ending.unanswered(outcome);
        return null;
      }
      this.#response = outcome;
      const verdict = judge({ kind: "answered", status: outcome.status }, this.#head.lists);
      if (!isPossible(outcome.status)) this.#giveUp(outcome);
      else if (verdict === "result") await this.#keep(outcome);
      else return await this.#pass(outcome, verdict);
      return null;
    } catch (error) {
      this.#spool?.break();
      this.#ending.fail(error);
      return null;
    }
  }

  /** An answer that is no result: passed on, not kept. Its body is read first as far as it is small. */
  async #pass(response: OriginResponse, type: "refused" | "ambiguous"): Promise<Refusal | null> {
    const body = await readSmall(response, CHUNK_BYTES);
    if (body.kind === "dropped" || body.kind === "timed-out") {
      this.#ending.unanswered(body);
      return null;
    }
    if (this.#ending.passed(type, { kind: "status", status: response.status }) === null) {
      response.cancel();
      return null;
    }
    const { bytes } = body;
    const passed = body.kind === "whole" ? bytes : continued(bytes, response, this.#patience);
    this.#ending.tell(firstAnswer(response, passed, this.#head.echo, null), type);
    return body.kind === "whole" && type === "refused" ? { ...response, bytes } : null;
  }

  /** A result: one whose whole body comes at once is stored with its record, any other as it comes. */
  async #keep(response: OriginResponse): Promise<void> {
    const first = response.next();
    let isLate = false;
    // Of a short body, the first piece comes with the head or soon after it: most answers are this, and nothing more.
    if (isShort(response) && (response.length ?? 0) <= this.#head.maxResponseBodyBytes) {
      const piece = await this.#soon(first);
      if (piece?.kind === "bytes" && piece.bytes.byteLength === response.length) {
        await this.#completeWhole(response, piece.bytes);
        return;
      }
      isLate = piece === null;
    }
    await this.#keepAsItComes(response, first, isLate);
  }

  /** What comes within `HEAD_PATIENCE_MS` of the attempt's answer; `null` when nothing does. */
  async #soon(piece: Promise<BodyPiece>): Promise<BodyPiece | null> {
    const { promise: timeUp, resolve } = Promise.withResolvers<null>();
    const due = this.#ports.timers.set(HEAD_PATIENCE_MS, () => resolve(null));
    try {
      return await Promise.race([piece, timeUp]);
    } finally {
      due.cancel();
    }
  }

  /** The body is stored as it comes, and told as it is stored; `isLate` when its first piece has been waited for already. */
  async #keepAsItComes(response: OriginResponse, first: Promise<BodyPiece>, isLate: boolean): Promise<void> {
    const spool = spoolFor(response, this.id, this.#ports, this.#patience);
    this.#spool = spool;
    if (isLate) this.#begin(response, spool);
    else void this.#beginWhenShown(response, spool);
    try {
      for (let piece = await first; ; piece = await response.next()) {
        if (piece.kind === "whole") break;
        if (piece.kind !== "bytes") {
          spool.break();
          // What is not kept has been settled before.
          if (this.#kept) this.#ending.unanswered(piece);
          return;
        }
        await spool.write(piece.bytes);
        const isTooLarge = spool.bytes > this.#head.maxResponseBodyBytes;
        if (isTooLarge && this.#overflow === null) await this.#outgrow(response, spool);
      }
      await this.#complete(response, spool);
    } catch (error) {
      console.error({ message: "response could not be stored", reason: String(error) });
      response.cancel();
      spool.break();
      if (this.#kept) this.#giveUp(response);
    }
  }

  /** The body is too large for the ledger: it goes to the bucket, or it is not kept. */
  async #outgrow(response: OriginResponse, spool: Spool): Promise<void> {
    const { remote } = this.#ports;
    const lost = (): void => {
      this.#kept = false;
      // The origin has answered, so the record says so before anybody reads on.
      this.#ending.result(response.status, null);
    };
    this.#overflow = new Overflow({ name: this.id, remote, spool, patience: this.#patience, lost });
    await spool.flush();
    await this.#overflow.begin();
    this.#begin(response, spool);
    spool.stopKeeping();
  }

  async #complete(response: OriginResponse, spool: Spool): Promise<void> {
    const { status, statusText, headers } = response;
    const whole = this.#overflow === null ? spool.takeWhole() : null;
    if (whole !== null) {
      await this.#completeWhole(response, whole);
      return;
    }
    await this.#overflow?.complete();
    await spool.finish(() => {
      if (this.#kept) this.#ending.result(status, { status, statusText, headers, body: this.#storedBody(spool) });
    });
  }

  #storedBody({ chunks, bytes }: Spool): StoredBody {
    if (this.#overflow !== null) return { kind: "remote", name: this.id, size: bytes };
    if (chunks === 0) return { kind: "inline", bytes: EMPTY };
    return { kind: "chunks", name: this.id, count: chunks, size: bytes };
  }

  /** A body that is all there: stored with its record or, when that fails, told and not kept. */
  async #completeWhole(response: OriginResponse, bytes: Uint8Array): Promise<void> {
    const { status, statusText, headers } = response;
    let record;
    try {
      record = this.#ending.result(status, { status, statusText, headers, body: { kind: "inline", bytes } })?.record;
    } catch (error) {
      console.error({ message: "response could not be stored", reason: String(error) });
      record = this.#ending.result(status, null)?.record;
    }
    const expiresAt = record?.state === "completed" && record.kept ? record.expiresAt : null;
    const body = await wholeBody(bytes, () => this.#ports.reopen(this.#patience), this.#patience);
    this.#ending.tell(firstAnswer(response, body, this.#head.echo, expiresAt), "first");
  }

  #giveUp(response: OriginResponse): void {
    response.cancel();
    this.#kept = false;
    this.#ending.unkept(response.status);
  }

  async #beginWhenShown(response: OriginResponse, spool: Spool): Promise<void> {
    await firstOf(spool.begun(), HEAD_PATIENCE_MS);
    if (spool.isReadable) this.#begin(response, spool);
  }

  /** There is something to tell: the first client gets its stream, and others may attach. */
  #begin(response: OriginResponse, spool: Spool): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#ending.tell(firstAnswer(response, spool.reader(response.length), this.#head.echo, null), "first");
    this.#begun.resolve();
  }
}
