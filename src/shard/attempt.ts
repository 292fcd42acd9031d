// One attempt while this instance runs it: the call to the origin, and its body on its way into the ledger and to all who
// read it.

import type { Started } from "../core/record.ts";
import type { EpochMs } from "../core/units.ts";
import { judge } from "../core/verdict.ts";
import type { ExchangeHead } from "../http/message.ts";
import {
  type AnswerFor,
  attachedAnswer,
  type Body,
  type ExchangeAnswer,
  findInChunks,
  firstAnswer,
  seenUpTo,
  wholeBody,
} from "./answers.ts";
import type { Bodies } from "./store/bodies.ts";
import type { Patience } from "./body/byte-pipe.ts";
import { AttemptSettlement, type StepRecord } from "./attempt-settlement.ts";
import type { EventOffsets } from "./body/event-offsets.ts";
import type { StoredBody } from "./store/response-rows.ts";
import type { BodyPiece, OriginOutcome, OriginResponse } from "./origin-call.ts";
import { Overflow } from "./body/overflow.ts";
import { PassedBody } from "./body/passed-body.ts";
import type { RemoteBodies } from "./store/remote-bodies.ts";
import { isShort, passingSpool, spoolFor } from "./body/response-spool.ts";
import type { Spool } from "./body/spool.ts";
import { StoreError } from "./store/store-error.ts";
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
  readonly offsets: EventOffsets;
  /** The first client is told of a stream, which others may attach to. */
  readonly begun: () => void;
  /** The attempt ended without a result: its word stands in the record, and its answer is told to all who wait, or to none. */
  readonly settled: (tell: AnswerFor | null) => void;
}

/** A response whose body does not come is told without it: an event stream may be silent for long after its head. */
const HEAD_PATIENCE_MS = 100;

const EMPTY = new Uint8Array();

export class Attempt {
  readonly #head: ExchangeHead;
  readonly #record: Started;
  readonly #ports: AttemptPorts;
  readonly #settlement: AttemptSettlement;
  #response: OriginResponse | null = null;
  #spool: Spool | null = null;
  /** The body of an answer that is no result, while it is passed on. */
  #passed: PassedBody | null = null;
  #end: "none" | "refused" | "ambiguous" = "none";
  /** As it stood when the attempt ended. */
  #lockedUntil: EpochMs;
  /** Whether the response is to be replayed. */
  #kept = true;
  /** Where a body goes that is too large for the ledger. */
  #overflow: Overflow | null = null;
  #hasBegun = false;

  constructor(head: ExchangeHead, record: Started, ports: AttemptPorts) {
    this.#head = head;
    this.#record = record;
    this.#lockedUntil = record.attempt.lockedUntil;
    this.#ports = ports;
    this.#settlement = new AttemptSettlement(head, record, ports.step);
  }

  get id(): Started["attempt"]["id"] {
    return this.#record.attempt.id;
  }

  get #patience(): Patience {
    return { timers: this.#ports.timers, idleMs: this.#head.rules.idleTimeoutMs };
  }

  /** The first client's answer: when the record is settled, or when the first bytes of a stream are durable. */
  get answer(): Promise<ExchangeAnswer> {
    return this.#settlement.answer;
  }

  /** Whether it has ended without a result: its lock is not renewed any more. What comes of its body is for its readers alone. */
  get hasEnded(): boolean {
    return this.#end !== "none";
  }

  /** Whether it has ended so that nobody knows what it did, and still talks with the origin. */
  get isInDoubt(): boolean {
    return this.#end === "ambiguous" && this.#passed !== null;
  }

  /** Breaks off what is still passed on of an answer in doubt, when its lock has ended. */
  cutOff(now: EpochMs): void {
    if (this.isInDoubt && now >= this.#lockedUntil) this.#passed?.cutOff();
  }

  /** Whether the first client has been told that a stream comes. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The stream from its first byte, or from where `head` says that the client left off; `null` when there is none. */
  async attach(head: ExchangeHead, caller: AbortSignal | null): Promise<Response | null> {
    const attachable = this.#attachable();
    if (attachable === null) return null;
    const { bodies, offsets } = this.#ports;
    const chunks = { name: this.id, count: attachable.spool.chunks };
    const from = await seenUpTo(attachable.response, head, (id) => findInChunks(chunks, id, bodies, offsets, caller));
    // Meanwhile it may have broken off, or become too large to keep.
    const { response, spool } = this.#attachable() ?? {};
    if (response === undefined || spool === undefined) return null;
    return attachedAnswer(response, spool.reader(response.length, from), head);
  }

  #attachable(): { readonly response: OriginResponse; readonly spool: Spool } | null {
    const response = this.#response;
    const spool = this.#spool;
    const isThere = this.#hasBegun && this.#overflow === null && spool?.isReadable === true;
    return response !== null && spool !== null && isThere ? { response, spool } : null;
  }

  /** Runs to the end, that of the body included. Never rejects. */
  async run(call: () => Promise<OriginOutcome>): Promise<void> {
    try {
      const outcome = await call();
      if (!("next" in outcome)) {
        const tell = this.#settlement.unanswered(outcome);
        this.#ports.settled(tell);
        return;
      }
      this.#response = outcome;
      const verdict = judge({ kind: "answered", status: outcome.status }, this.#head.rules.lists);
      if (verdict === "result") await this.#keep(outcome);
      else await this.#pass(outcome, verdict);
    } catch (error) {
      // Nothing is heard of it any more, so it must not outlive its lock.
      this.#response?.cancel();
      this.#spool?.break();
      this.#passed?.cutOff();
      this.#settlement.fail(error);
    }
  }

  /**
   * An answer that is no result: its status alone says so, and the record with it. The answer is told to all who wait, also
   * when its body does not come; one in doubt only as long as no other attempt may start (G1).
   */
  async #pass(response: OriginResponse, type: "refused" | "ambiguous"): Promise<void> {
    const { timers, settled } = this.#ports;
    const step = this.#settlement.passed(type, { kind: "status", status: response.status });
    if (step === null) {
      response.cancel();
      return;
    }
    this.#end = type;
    // Not by the attempt's own name: its record may get a body of that name by then, from the origin when asked or an operator.
    const passed = new PassedBody(response, passingSpool(`${this.id}/passed`, this.#ports, this.#patience));
    this.#passed = passed;
    this.#lockedUntil = step.record?.attempt.lockedUntil ?? this.#lockedUntil;
    const leftMs = type === "ambiguous" ? this.#lockedUntil - Date.now() : Number.POSITIVE_INFINITY;
    const due = timers.set(leftMs, () => passed.cutOff());
    await passed.ready(timers, HEAD_PATIENCE_MS);
    const tell: AnswerFor = ({ request }) => ({
      response: firstAnswer(response, passed.reader(), request.echo, null),
      outcome: type,
    });
    this.#settlement.give(tell(this.#head));
    settled(type === "refused" ? tell : null);
    await passed.rest();
    due.cancel();
  }

  /** A result: one whose whole body comes at once is stored with its record, any other as it comes. */
  async #keep(response: OriginResponse): Promise<void> {
    const first = response.next();
    let isLate = false;
    // Of a short body, the first piece comes with the head or soon after it: most answers are this, and nothing more.
    if (isShort(response) && (response.length ?? 0) <= this.#head.rules.maxResponseBodyBytes) {
      const piece = await this.#ports.timers.firstOf(first, HEAD_PATIENCE_MS);
      if (piece?.kind === "bytes" && piece.bytes.byteLength === response.length) {
        await this.#completeWhole(response, piece.bytes);
        return;
      }
      isLate = piece === null;
    }
    await this.#keepAsItComes(response, first, isLate);
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
          if (this.#kept) this.#settlement.unanswered(piece);
          return;
        }
        await spool.write(piece.bytes);
        const isTooLarge = spool.bytes > this.#head.rules.maxResponseBodyBytes;
        if (isTooLarge && this.#overflow === null) await this.#outgrow(response, spool);
      }
      await this.#complete(response, spool);
    } catch (error) {
      report(error);
      response.cancel();
      spool.break();
      if (this.#kept) this.#giveUp(response);
    }
  }

  /** The body is too large for the ledger: it goes to the bucket, or it is not kept. */
  async #outgrow(response: OriginResponse, spool: Spool): Promise<void> {
    const { remote } = this.#ports;
    const lost = (): void => {
      // The origin has answered, so the record says so before anybody reads on; where that fails, it is tried once more.
      this.#settlement.result(response.status, null);
      this.#kept = false;
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
      if (this.#kept) this.#settlement.result(status, { status, statusText, headers, body: this.#storedBody(spool) });
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
      record = this.#settlement.result(status, {
        status,
        statusText,
        headers,
        body: { kind: "inline", bytes },
      })?.record;
    } catch (error) {
      report(error);
      record = this.#settlement.result(status, null)?.record;
    }
    const expiresAt = record?.state === "completed" && record.kept ? record.expiresAt : null;
    const body = await wholeBody(bytes, () => this.#ports.reopen(this.#patience), this.#patience);
    this.#settlement.give({
      response: firstAnswer(response, body, this.#head.request.echo, expiresAt),
      outcome: "first",
    });
  }

  #giveUp(response: OriginResponse): void {
    response.cancel();
    this.#kept = false;
    this.#settlement.unkept(response.status);
  }

  async #beginWhenShown(response: OriginResponse, spool: Spool): Promise<void> {
    await this.#ports.timers.firstOf(spool.readable(), HEAD_PATIENCE_MS);
    if (spool.isReadable) this.#begin(response, spool);
  }

  /** There is something to tell: the first client gets its stream, and others may attach. */
  #begin(response: OriginResponse, spool: Spool): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    try {
      const body = spool.reader(response.length);
      this.#settlement.give({ response: firstAnswer(response, body, this.#head.request.echo, null), outcome: "first" });
    } catch (error) {
      // Its client cannot be told; the answer is kept all the same.
      this.#settlement.fail(error);
    }
    this.#ports.begun();
  }
}

/** Only the store's own failures say that a response could not be stored; anything else is a bug. */
function report(error: unknown): void {
  const message = error instanceof StoreError ? "response could not be stored" : "unexpected error in an attempt";
  console.error({ message, reason: String(error) });
}
